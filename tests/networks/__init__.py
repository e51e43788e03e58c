"""Random networks of processes, run by each library, and the law their logs are judged by."""
