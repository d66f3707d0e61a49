"""Compiled kernels of a forest: growing and raking trees, and predicting from them.

Codes of predictors are below 64, so that a set of codes is a 64-bit word. Arrays are filled and summed in loops,
because Numba takes seconds to compile expressions of whole arrays.
"""

import numba
import numpy as np

from molehill.sorting import order_of

# Number of trees: fewer for many records, so that the time of a fit grows at most linearly.
TREES, MANY_RECORDS, FEWEST_TREES = 200, 25_000, 40
# Raking sweeps over all predictors. With a survey weight among the predictors, three sweeps leave a bias: see
# benchmarks/surveys.py.
SWEEPS, UNDER_DESIGN = 3, 12


def count_trees(records: int) -> int:
    """Number of trees for a number of records.

    Examples
    --------
    >>> count_trees(2_000), count_trees(50_000), count_trees(1_000_000)
    (200, 100, 40)
    """
    return min(max(TREES * MANY_RECORDS // max(records, 1), FEWEST_TREES), TREES)


@numba.njit(cache=True, nogil=True)
def grow_tree(
    codes, sizes, unordered, outcome, number, scores, leaf, try_most, masses, seed, shrinkage, who=None, times=None
):
    """Grow one tree on bootstrap weights of the records (`masses`).

    With a survey, `who` are the records' contributions to the minimum leaf size and `times` the survey weights; a node
    is shrunk by its effective number of records, (sum of who times)^2 / (sum of who times^2). Without a survey `masses`
    are used for both.

    Returns
    -------
    feature, left, child
        One per node: the predictor of its split, the codes that go left as a bit set, and its left child (followed by
        the right one); for a leaf -1, 0, and minus its number minus 1.
    shares
        (leaves, levels): the distribution of the variable in every leaf.
    """
    np.random.seed(seed)
    records, predictors = codes.shape
    order, aside = np.empty(records, np.int64), np.empty(records, np.int64)
    whole = 0.0
    for i in range(records):
        order[i] = i
        whole += masses[i] if who is None else who[i]
    # Every leaf has at least one record.
    most = 3 + 2 * int(min(whole / leaf, float(records)))
    feature, child, parent = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int32)
    for v in range(most):
        feature[v], child[v], parent[v] = -1, -1, -1
    left = np.zeros(most, np.uint64)
    begin, end = np.zeros(most, np.int64), np.zeros(most, np.int64)
    counts = np.zeros((most, number))
    end[0] = records
    for i in range(records):
        counts[0, outcome[i]] += masses[i]
    table, total, score = np.zeros((64, number)), np.zeros(64), np.zeros(64)
    held = total
    if who is not None:
        held = np.zeros(64)
    # For the levels that occur in a node: their numbers, their terms of the entropy of a side, and whether these must
    # be recomputed.
    here, place_of, own_terms = np.empty(number, np.int64), np.full(number, -1, np.int64), np.empty(number)
    below, above, moved = np.empty(number), np.empty(number), np.empty(number, np.bool_)
    part, shuffled, plain = np.zeros(number), np.empty(predictors, np.int64), np.empty(64, np.int64)
    for f in range(predictors):
        shuffled[f] = f
    for code in range(64):
        plain[code] = code
    nodes, node = 1, 0
    while node < nodes:
        mass, largest = 0.0, 0.0
        for k in range(number):
            mass += counts[node, k]
            largest = max(largest, counts[node, k])
        counted = mass
        if who is not None:
            counted = 0.0
            for place in range(begin[node], end[node]):
                counted += who[order[place]]
        if counted >= 2 * leaf and nodes + 2 <= most and largest < mass * (1 - 1e-9):
            base, several = -mass * np.log(mass), 0
            for k in range(number):
                place_of[k] = -1
                if counts[node, k] > 0:
                    here[several], place_of[k] = k, several
                    own_terms[several] = counts[node, k] * np.log(counts[node, k])
                    base += own_terms[several]
                    several += 1
            # A random level, by whose share the codes of categories are sorted if levels are unordered.
            limit, chosen = np.random.random() * mass, 0
            reached = counts[node, 0]
            while reached < limit and chosen < number - 1:
                chosen += 1
                reached += counts[node, chosen]
            best, best_feature, best_left = 1e-9, -1, np.uint64(0)
            tried = 0
            for place in range(predictors):
                # Predictors in random order, until enough were tried.
                other = place + np.random.randint(predictors - place)
                shuffled[place], shuffled[other] = shuffled[other], shuffled[place]
                f = shuffled[place]
                if tried >= try_most:
                    break
                size = sizes[f]
                for code in range(size):
                    total[code], held[code] = 0.0, 0.0
                    for j in range(several):
                        table[code, j] = 0.0
                for place in range(begin[node], end[node]):
                    i = order[place]
                    j = place_of[outcome[i]]
                    if j >= 0:
                        table[codes[i, f], j] += masses[i]
                if who is not None:
                    for place in range(begin[node], end[node]):
                        held[codes[order[place], f]] += who[order[place]]
                present = 0
                for code in range(size):
                    for j in range(several):
                        total[code] += table[code, j]
                    present += total[code] > 0
                if present < 2:
                    continue
                tried += 1
                if unordered[f]:
                    for code in range(size):
                        score[code] = 2.0
                        if total[code] > 0:
                            if len(scores) == number:
                                score[code] = 0.0
                                for j in range(several):
                                    score[code] += table[code, j] * scores[here[j]]
                                score[code] /= total[code]
                            elif place_of[chosen] >= 0:
                                score[code] = table[code, place_of[chosen]] / total[code]
                            else:
                                score[code] = 0.0
                        else:
                            # A code that does not occur here goes to a random side.
                            score[code] = np.random.random()
                    ranked = order_of(score[:size])
                else:
                    ranked = plain
                for j in range(several):
                    part[j], below[j], above[j], moved[j] = 0.0, 0.0, own_terms[j], False
                lower, enough = 0.0, 0.0
                word = np.uint64(0)
                for place in range(size - 1):
                    code = ranked[place]
                    word |= np.uint64(1) << np.uint64(code)
                    if total[code] == 0 and held[code] == 0:
                        continue
                    for j in range(several):
                        if table[code, j] > 0:
                            part[j] += table[code, j]
                            moved[j] = True
                    lower += total[code]
                    enough += held[code]
                    upper = mass - lower
                    if enough < leaf:
                        continue
                    if counted - enough < leaf:
                        break
                    # All bootstrap weights of one side may be 0 with clusters.
                    if lower <= 0 or upper <= 0:
                        continue
                    gain = -base - lower * np.log(lower) - upper * np.log(upper)
                    for j in range(several):
                        if moved[j]:
                            other = counts[node, here[j]] - part[j]
                            below[j] = part[j] * np.log(part[j])
                            above[j] = other * np.log(other) if other > 1e-12 else 0.0
                            moved[j] = False
                        gain += below[j]
                        gain += above[j]
                    if gain > best:
                        best, best_feature, best_left = gain, f, word
            if best_feature >= 0:
                feature[node], left[node], child[node] = best_feature, best_left, nodes
                parent[nodes], parent[nodes + 1] = node, node
                front, back = begin[node], 0
                for place in range(begin[node], end[node]):
                    i = order[place]
                    if (best_left >> np.uint64(codes[i, best_feature])) & np.uint64(1):
                        order[front] = i
                        front += 1
                        counts[nodes, outcome[i]] += masses[i]
                    else:
                        aside[back] = i
                        back += 1
                        counts[nodes + 1, outcome[i]] += masses[i]
                for place in range(back):
                    order[front + place] = aside[place]
                begin[nodes], end[nodes] = begin[node], front
                begin[nodes + 1], end[nodes + 1] = front, end[node]
                nodes += 2
        node += 1
    shares = np.empty((nodes, number))
    leaves = 0
    for v in range(nodes):
        mass = sum_row(counts, v)
        if who is not None and times is not None and mass > 0:
            first, second = 0.0, 0.0
            for place in range(begin[v], end[v]):
                i = order[place]
                first += who[i] * times[i]
                second += who[i] * times[i] * times[i]
            for k in range(number):
                counts[v, k] *= first * first / second / mass
            mass = first * first / second
        for k in range(number):
            if v == 0:
                # Every level has a positive probability.
                shares[v, k] = (counts[v, k] + 1.0 / number) / (mass + 1.0)
            else:
                shares[v, k] = (counts[v, k] + shrinkage * shares[parent[v], k]) / (mass + shrinkage)
        if child[v] < 0:
            leaves += 1
    kept = np.empty((leaves, number), np.float32)
    leaves = 0
    for v in range(nodes):
        if child[v] < 0:
            for k in range(number):
                kept[leaves, k] = shares[v, k]
            leaves += 1
            child[v] = -leaves
    return feature[:nodes], left[:nodes], child[:nodes], kept


@numba.njit(cache=True, nogil=True)
def lean_tree(
    codes,
    cells,
    outcome,
    group,
    groups,
    masses,
    feature,
    left,
    child,
    shares,
    number,
    sweeps,
    shrinkage,
    effective=None,
):
    """Rake a tree to the one-way margins of every predictor, by iterative proportional fitting.

    Splits use the strongest predictors; associations with others are lost further down. For every cell of a predictor
    (`cells`: its number by predictor and code, -1 for none) and group of levels, the tree's expectation is adjusted to
    the weighted data, one predictor at a time, in some sweeps. `effective` is the effective number of records of every
    cell with a survey.

    Returns
    -------
    lean
        (cells, groups): factors of the level probabilities, before normalization.
    """
    records, predictors = codes.shape
    leaves, levels = shares.shape
    lean, ratio = np.empty((number, groups)), np.empty((number, groups))
    for cell in range(number):
        for g in range(groups):
            lean[cell, g], ratio[cell, g] = 1.0, 1.0
    if number == 0:
        return lean
    of_leaf = np.zeros((leaves, groups))
    for one in range(leaves):
        for k in range(levels):
            of_leaf[one, group[k]] += shares[one, k]
    found = find_leaves(codes, feature, left, child)
    seen, of_cell = np.zeros((number, groups)), np.empty((predictors, records), np.int32)
    # Raked probabilities of every record so far, unnormalized, and their sums.
    leaning, total = np.empty((records, groups)), np.zeros(records)
    for i in range(records):
        for f in range(predictors):
            cell = cells[f, codes[i, f]]
            of_cell[f, i] = cell
            if cell >= 0:
                seen[cell, group[outcome[i]]] += masses[i]
        for g in range(groups):
            leaning[i, g] = of_leaf[found[i], g]
            total[i] += leaning[i, g]
    if effective is not None:
        # Rescaled to effective numbers of records, which determine the shrinkage of a cell.
        for cell in range(number):
            times = effective[cell] / max(sum_row(seen, cell), 1e-300)
            for g in range(groups):
                seen[cell, g] *= times
    expected = np.zeros((number, groups))
    for _ in range(sweeps):
        for f in range(predictors):
            first, last = number, -1
            for code in range(cells.shape[1]):
                if cells[f, code] >= 0:
                    first, last = min(first, cells[f, code]), max(last, cells[f, code])
            if last < 0:
                continue
            for cell in range(first, last + 1):
                for g in range(groups):
                    expected[cell, g] = 0.0
            for i in range(records):
                cell = of_cell[f, i]
                if cell >= 0:
                    times = masses[i] / total[i]
                    for g in range(groups):
                        expected[cell, g] += times * leaning[i, g]
            if effective is not None:
                for cell in range(first, last + 1):
                    times = effective[cell] / max(sum_row(expected, cell), 1e-300)
                    for g in range(groups):
                        expected[cell, g] *= times
            for cell in range(first, last + 1):
                for g in range(groups):
                    ratio[cell, g] = (seen[cell, g] + shrinkage) / (expected[cell, g] + shrinkage)
                    lean[cell, g] *= ratio[cell, g]
            for i in range(records):
                cell = of_cell[f, i]
                if cell >= 0:
                    added = 0.0
                    for g in range(groups):
                        leaning[i, g] *= ratio[cell, g]
                        added += leaning[i, g]
                    total[i] = added
    return lean


@numba.njit(cache=True, nogil=True)
def sum_row(values, row):
    """Sum of one row."""
    total = 0.0
    for value in values[row]:
        total += value
    return total


@numba.njit(cache=True, nogil=True)
def walk(codes, feature, left, child, shares, lean, cells, group, chosen, chance, allowed, drawn, given):
    """Draw a level of every record from the leaf of its tree, among the allowed levels.

    `given` gets the total probability of the allowed levels; if it is 0, the level is -1.
    """
    factors, own = np.empty(lean.shape[2]), np.empty(shares.shape[2])
    for i in range(len(codes)):
        tree = chosen[i]
        node = find_leaf(codes[i], feature[tree], left[tree], child[tree])
        for g in range(len(factors)):
            factors[g] = 1.0
        for f in range(codes.shape[1]):
            cell = cells[f, codes[i, f]]
            if cell >= 0:
                for g in range(len(factors)):
                    factors[g] *= lean[tree, cell, g]
        for k in range(len(own)):
            own[k] = shares[tree, -child[tree, node] - 1, k] * factors[group[k]]
        total, whole = 0.0, 0.0
        for k in range(len(own)):
            whole += own[k]
            if allowed[i % len(allowed), k]:
                total += own[k]
        given[i] = total / whole
        drawn[i] = -1
        limit, reached = chance[i] * total, 0.0
        for k in range(len(own)):
            if allowed[i % len(allowed), k] and own[k] > 0:
                reached += own[k]
                drawn[i] = k
                if reached > limit:
                    break


@numba.njit(cache=True, nogil=True)
def find_leaf(codes, feature, left, child):
    """Node number of the leaf of a record."""
    node = 0
    while child[node] >= 0:
        goes_left = (left[node] >> np.uint64(codes[feature[node]])) & np.uint64(1)
        node = child[node] + (0 if goes_left else 1)
    return node


@numba.njit(cache=True, nogil=True)
def find_leaves(codes, feature, left, child):
    """Leaf number of every record in one tree."""
    found = np.empty(len(codes), np.int64)
    for i in range(len(codes)):
        found[i] = -child[find_leaf(codes[i], feature, left, child)] - 1
    return found


@numba.njit(cache=True, nogil=True)
def fill_counts(codes, outcome, weights, feature, left, child, counts, people):
    """Total weights of the levels in every node of a tree, and number of records in every leaf."""
    levels = counts.shape[1]
    for node in range(len(child)):
        people[node] = 0.0
        for k in range(levels):
            counts[node, k] = 0.0
    for i in range(len(codes)):
        if outcome[i] >= 0:
            node = find_leaf(codes[i], feature, left, child)
            counts[node, outcome[i]] += weights[i]
            people[node] += 1
    for node in range(len(child) - 1, -1, -1):
        if child[node] >= 0:
            for k in range(levels):
                counts[node, k] = counts[child[node], k] + counts[child[node] + 1, k]
