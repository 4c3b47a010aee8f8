"""Statistical translation through sil-thot and sil-machine, as a run."""
