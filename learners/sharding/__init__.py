"""One lane split over several workers, with the results of one worker."""
