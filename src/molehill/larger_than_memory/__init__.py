"""Files larger than memory: folders of Parquet files, sorted on disk by DuckDB and measured chunk by chunk."""
