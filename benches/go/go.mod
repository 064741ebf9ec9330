module gmp-bench-go

go 1.25
