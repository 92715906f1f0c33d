"""What Stateward costs, measured: beside hand-written SQL (the floor) and beside its peers, in one run.

`jobs` says what is measured and by what; `child` is the process in which one measurement happens; `ours`, `floor`
and `peers` do the work; `runs` plans and starts them; `report` writes the page. `growth` and `scale` do the same
for history, coordinators and depth of the queue. It measures the product through its public interfaces: it must never
reach into it, and never leave anything behind but a page.
"""
