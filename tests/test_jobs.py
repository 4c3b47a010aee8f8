"""Jobs: real processes that outlive their parent, stop on request, and report what went wrong."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.full_disk import files_of_at_most

from nmtlab.errors import NmtlabError
from nmtlab.jobs import Job, list_jobs
from nmtlab.runs.log import read_log
from nmtlab.runs.run import Run
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

FOREVER = ["sleep", "600"]


def until(met: Callable[[], object], seconds: float = 60) -> None:
    """Wait until a condition holds; no test depends on how long."""
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def ended(job: Job) -> Job:
    until(lambda: not job.alive)
    return job


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., Job]]:
    """Start jobs, each in a new folder unless one is named; kill those still alive after the test."""
    jobs = []

    def start(command: list[str], name: str = "") -> Job:
        jobs.append(Job.start(tmp_path / "jobs" / (name or f"job-{len(jobs)}"), command))
        return jobs[-1]

    yield start
    for job in jobs:
        job.kill()
        job._process.wait()


def test_a_job_is_alive_until_its_command_ends_and_leaves_no_zombie(start):
    job = start(["sleep", "0.2"])
    assert job.alive
    ended(job)
    # Its lock is released a moment before it can be waited for: one more check is enough.
    until(lambda: not job.alive and not Path(f"/proc/{job.pid}").exists())


def test_a_job_that_has_ended_is_not_alive_even_while_it_is_a_zombie(start):
    job = start(["true"])
    seen = Job.open(job.folder)  # as another page, which cannot wait for it, sees it
    until(lambda: Path(f"/proc/{job.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    assert not seen.alive


def test_a_job_goes_on_when_who_started_it_is_gone(tmp_path):
    folder, sign = tmp_path / "job", tmp_path / "sign"
    work = f"import time, pathlib; time.sleep(1); pathlib.Path({str(sign)!r}).write_text('done'); time.sleep(600)"
    # As from a notebook's kernel, which ignores SIGINT, as do the processes it starts.
    program = (
        "import os, pathlib, signal; from nmtlab.jobs import Job\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"Job.start(pathlib.Path({str(folder)!r}), {python(work)!r})\n"
        "os.killpg(0, signal.SIGKILL)\n"
    )
    gone = subprocess.run([sys.executable, "-c", program], start_new_session=True, check=False)
    assert gone.returncode == -signal.SIGKILL
    job = Job.open(folder)
    assert job.alive
    assert os.getsid(job.pid) == job.pid
    until(sign.exists)
    assert job.alive
    job.stop()
    ended(job)


def test_a_process_that_the_command_left_behind_keeps_the_job_alive_and_is_killed_with_it(start):
    job = start(["sh", "-c", "sleep 600 & exit 0"])
    assert job._process.wait() == 0
    assert job.alive
    job.stop()  # the command has already ended
    assert job.alive
    job.kill()
    ended(job)


@pytest.mark.full
def test_a_training_that_is_stopped_can_be_resumed(start, tmp_path, tiny_corpus, tiny_recipe, monkeypatch):
    workspace = Workspace(tmp_path / "data")
    monkeypatch.setenv("NMTLAB_DATA", str(workspace.data))
    tiny_recipe.with_changes({"training.max_evaluations": 10_000}).save(tmp_path / "tiny.toml")
    words = ["train", str(tiny_corpus.folder), "--recipe", str(tmp_path / "tiny.toml"), "--name", "run"]
    job = start([sys.executable, "-m", "nmtlab", *words])
    log = workspace.runs / "run/metrics.jsonl"
    # its first checkpoint is at 20
    until(lambda: not job.alive or any(line["step"] >= 30 for line in read_log(log)))
    assert "dev BLEU" in job.tail(), "what is printed is in the log at once"
    job.stop()
    ended(job)

    run = Run(workspace.runs / "run")
    step = int(run.log.metrics("end")["step"].iloc[-1])
    assert (run.status, run.checkpoints.weights("last")[1]["step"]) == ("stopped", step)
    assert (job.last_error, job.tail(1).startswith("run run: stopped")) == (None, True)
    steps = iter(range(100))
    train("run", run.recipe, tiny_corpus, workspace, resume=True, should_stop=lambda: next(steps) == 5)
    assert run.log.gradient_norms()["step"].tolist() == list(range(1, step + 6))


def test_a_killed_job_is_not_alive_and_has_nothing_to_say(start):
    job = start(FOREVER)
    os.kill(job.pid, signal.SIGKILL)
    assert ended(job).last_error is None
    job.stop()
    job.kill()  # an ended job gets no signal


def test_killing_ends_a_job_that_does_not_listen_with_all_its_processes(start):
    program = "import signal, subprocess as s; signal.signal(15, signal.SIG_IGN); p = s.Popen(['sleep', '600'])"
    job = start(python(f"{program}; print(p.pid); p.wait()"))
    until(job.tail)
    job.stop()
    assert job.alive
    job.kill()
    ended(job)
    child = Path(f"/proc/{job.tail()}/stat")
    until(lambda: not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z")


def test_no_second_job_is_started_beside_one_that_is_alive(start):
    job = start(FOREVER, "taken")
    with pytest.raises(NmtlabError, match=r"^job 'taken': already running; stop it, .* use another folder$"):
        start(FOREVER, "taken")
    assert Job.open(job.folder) == job
    assert job.alive


def test_a_look_whether_a_job_is_alive_does_not_keep_another_from_starting(start):
    first = ended(start(["true"], "place"))
    with (first.folder / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)  # as a status check does, for a moment
        threading.Timer(0.05, fcntl.flock, (lock, fcntl.LOCK_UN)).start()
        second = start(FOREVER, "place")
    assert second.alive
    assert not first.alive


def test_a_folder_is_used_again_and_the_earlier_job_is_none_of_the_later(start):
    first = start(python("print('old'); raise ValueError('old')"), "place")
    assert ended(first).last_error == "ValueError: old"
    second = start(FOREVER, "place")
    assert (second.alive, second.tail()) == (True, "")
    assert not first.alive
    first.stop()
    first.kill()  # its pid may have been reused by now
    assert second.alive
    assert (second.folder / "log").read_text().endswith("ValueError: old\n"), "the log has both"
    second.stop()
    assert ended(second).last_error is None


def test_a_job_is_described_by_a_file_that_anyone_can_read(start):
    before = datetime.now(UTC)
    job = start(["sh", "-c", "echo ${GREETING-none}; cat; pwd"])
    noted = json.loads((job.folder / "job.json").read_text())
    assert (noted["command"], noted["pid"]) == (list(job.command), job.pid)
    assert before <= datetime.fromisoformat(noted["started"]) <= datetime.now(UTC)
    assert ended(job).tail() == f"none\n{os.getcwd()}", "there is no input, and the folder is the one it was started in"


def test_a_job_has_the_environment_of_who_started_it(start, monkeypatch):
    monkeypatch.setenv("GREETING", "hello")
    threads = os.environ["OMP_NUM_THREADS"]
    job = start(["sh", "-c", "echo $GREETING $OMP_NUM_THREADS"])
    assert ended(job).tail() == f"hello {threads}"


PROGRESS = r"""
import sys
print('learning the vocabulary ...')
for percent in range(0, 101, 10):
    sys.stderr.write(f'\r\x1b[1m{percent:3d}%\x1b[0m|{"#" * percent}| \x1b]0;title\x07')
sys.stderr.write('\n\x1b[1A\x1b[2Kupdate 20\x08\r\r\n')
sys.stderr.write('\x1b(Bbest\tof\x1b]8;;x\x1b\\ all  \r      \r')
"""


def test_the_tail_shows_a_progress_bar_as_it_was_last_and_no_control_sequences(start):
    job = ended(start(python(PROGRESS)))
    lines = ["learning the vocabulary ...", f"100%|{'#' * 100}|", "update 20", "best\tof all"]
    assert job.tail() == "\n".join(lines)
    assert job.tail(2) == "\n".join(lines[2:])
    assert job.tail(1) == lines[3]


def test_the_bar_of_tqdm_is_one_line(start):
    program = "from tqdm import tqdm\nfor i in tqdm(range(300), mininterval=0): pass\ntqdm.write('done')"
    lines = ended(start(python(program))).tail(5).splitlines()
    assert len(lines) == 2
    assert "300/300" in lines[0]
    assert lines[0].count("it/s") == 1
    assert lines[1] == "done"


def test_of_a_huge_log_only_the_end_is_read(start):
    program = "import sys; sys.stdout.write('head\\n' + '9% \\r' * 300_000 + '10%\\r'); sys.stdout.flush()"
    assert ended(start(python(program))).tail() == "10%"
    more = program + "; print('\\nlast ä')"
    assert ended(start(python(more))).tail() == "last ä"


def test_a_log_that_is_gone_or_no_text_is_shown_as_well_as_it_can_be(start):
    job = ended(start(["printf", r"\377\376 caf\303\251\n"]))
    assert job.tail() == "\ufffd\ufffd café"
    (job.folder / "log").unlink()
    assert (job.tail(), job.last_error) == ("", None)


@pytest.mark.full
def test_a_command_that_fails_shows_its_sentence(start, tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "data"))
    job = ended(start([sys.executable, "-m", "nmtlab", "train", "nosuchcorpus"]))
    assert job.last_error.startswith("corpus 'nosuchcorpus': not found (searched ")
    assert job.last_error.endswith(
        "; make one with 'nmtlab corpus import' or 'nmtlab corpus make', or give the path of its folder"
    )
    crashed = ended(start(python("import sys; print('nmtlab: not the last line'); {}['key']")))
    assert crashed.last_error == "KeyError: 'key'"
    well = ended(start(python("print('nmtlab: a remark'); print('all is well')")))
    assert well.last_error is None


def test_an_error_is_not_one_before_the_end(start):
    job = start(python("import time; print('nmtlab: wait; or not'); time.sleep(600)"))
    until(job.tail)
    assert job.last_error is None
    job.kill()
    assert ended(job).last_error == "wait; or not"


@pytest.mark.parametrize("name", ["a b", "-n", "'; echo $HOME #", "zwei\nZeilen", "\U0001f40c ö", "x..", "*"])
def test_names_are_names_whatever_is_in_them(start, name, tmp_path):
    job = ended(start(["printf", "%s|", name, "\udcff", "\x1b[31m"], name))
    assert job.tail() == f"{name}|\ufffd||"
    assert Job.open(job.folder) == job
    assert list_jobs(tmp_path / "jobs") == ([job], [])
    (job.folder / "job.json").write_text("{")
    with pytest.raises(NmtlabError) as error:
        Job.open(job.folder)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["no-such-program"], "No such file"),
        (["/"], "ermission denied"),
        (["echo", "a\0b"], "null byte"),
    ],
)
def test_what_cannot_be_started_is_said_with_its_name_and_leaves_the_folder_free(start, command, said):
    with pytest.raises(NmtlabError) as error:
        start(command, "place")
    text = str(error.value)
    assert said in text
    assert repr(command[0]) in text
    assert text.startswith("job 'place': cannot be started")
    assert text.endswith("; fix that and start it again")
    assert ended(start(["echo", "now"], "place")).tail() == "now"


def test_where_no_folder_can_be_made_nothing_is_started(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NmtlabError, match=r"job 'job': cannot be started: '.*file.*': Not a directory; fix"):
        Job.start(tmp_path / "file/job", FOREVER)


def test_on_a_full_disk_no_job_is_started_that_nobody_could_find(tmp_path):
    with files_of_at_most(10), pytest.raises(NmtlabError, match=r"cannot be started: '.*job\.json'"):
        Job.start(tmp_path / "job", FOREVER)
    assert list_jobs(tmp_path) == ([], ["job"])
    ended(Job.start(tmp_path / "job", ["true"]))


def test_jobs_are_listed_newest_first_and_damaged_ones_are_named(start, tmp_path):
    jobs = [ended(start(["true"], name)) for name in ("b", "c", "a")]
    damaged = start(FOREVER, "damaged")
    (damaged.folder / "job.json").write_text("{")
    (tmp_path / "jobs/empty").mkdir()
    (tmp_path / "jobs/.hidden").mkdir()
    (tmp_path / "jobs/a file").write_text("")
    assert list_jobs(tmp_path / "jobs") == (jobs[::-1], ["damaged", "empty"])
    assert list_jobs(tmp_path / "nowhere") == ([], [])
    os.killpg(damaged.pid, signal.SIGKILL)
    assert damaged._process.wait() < 0


WHOLE = {"command": ["true"], "pid": 4000, "started": "2026-01-02T03:04:05+00:00", "log_start": 0}


@pytest.mark.parametrize(
    "change",
    [
        {"pid": -1}, {"pid": 0}, {"pid": 1}, {"pid": True}, {"pid": "4000"}, {"pid": 10**30}, {"pid": 4000.5},
        {"command": "rm"}, {"command": [1]}, {"command": None}, {"started": "yesterday"}, {"started": 5},
        {"started": "0001-01-01T00:00:00+23:00"}, {"log_start": -1}, {"log_start": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_file_that_was_tampered_with_is_damaged_and_nothing_is_signalled(tmp_path, change):
    path = tmp_path / "job/job.json"
    path.parent.mkdir()
    path.write_text(json.dumps(WHOLE))
    assert Job.open(path.parent).started == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    path.write_text(json.dumps(WHOLE | change))
    with pytest.raises(NmtlabError, match=r"^job 'job': job.json is missing or damaged; start it again, or remove"):
        Job.open(path.parent)


@pytest.mark.parametrize("text", ["", "[]", "null", '{"pid": 5}', "[" * 100_000, "\x00"])
def test_a_file_that_is_no_description_is_damaged(tmp_path, text):
    (tmp_path / "job.json").write_text(text)
    with pytest.raises(NmtlabError, match=r"job\.json is missing or damaged"):
        Job.open(tmp_path)
