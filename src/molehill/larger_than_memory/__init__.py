"""Files larger than memory: folders of Parquet files, sorted by pattern on disk by DuckDB and measured chunk by chunk."""
