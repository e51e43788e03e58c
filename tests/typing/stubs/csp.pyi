# What the rules' tests import as `csp`: one of the libraries, here that with all names.

from uapycsp import *
