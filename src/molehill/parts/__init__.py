"""Tables larger than memory: Parquet files in a folder, read, patterned and measured part by part."""
