//! Runs one command from start to end.

use std::time::{Duration, Instant};

use tokio::time::{sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::captured::{Collector, OutputSink};
use super::spawn::Control;
use super::wire::{JobReport, ProcessEnd};
use super::{Exit, Finished, Job, Sandbox, SandboxError};
use crate::domain::Mask;

/// Maximum time for the supervisor to kill a process tree; it limits itself to five seconds.
const STOP_TIMEOUT: Duration = Duration::from_secs(6);
/// Maximum time to wait for output that is still in the pipes after everything has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

impl Sandbox {
    /// Runs a command until it ends, its time limit expires, or `cancel` fires; then none of its processes is left. Its
    /// output up to that point is kept in every case. Dropping the future kills the command too.
    pub async fn run(&self, job: Job, cancel: CancellationToken) -> Result<Finished, SandboxError> {
        self.run_with_output(job, cancel, &|_| {}).await
    }

    /// Like [`Sandbox::run`]; passes the output of both streams to `live` while the command runs.
    pub async fn run_with_output(
        &self,
        job: Job,
        cancel: CancellationToken,
        live: OutputSink<'_>,
    ) -> Result<Finished, SandboxError> {
        self.run_masked(job, cancel, (live, &Mask::default())).await
    }

    /// Like [`Sandbox::run_with_output`]; hides secrets in the output before anything of it is passed on or kept.
    pub async fn run_masked(
        &self,
        job: Job,
        cancel: CancellationToken,
        (live, mask): (OutputSink<'_>, &Mask),
    ) -> Result<Finished, SandboxError> {
        let started = Instant::now();
        let (mut request, grant) = self.job_request(&job)?;
        // The wall limit ends a sleeping process; this limit ends a busy one that the supervisor cannot kill in time.
        request.cpu_seconds = Some(job.wall.as_secs().saturating_mul(4) + 10);
        let mut supervised = self.supervisor(&job, &request).await?;
        let mut out = Collector::masking(job.output_cap, mask);
        let mut err = Collector::masking(job.output_cap, mask);
        let (stdout, stderr) = (supervised.child.stdout.take(), supervised.child.stderr.take());
        let mut begun = false;
        let exit = {
            let pump = async {
                let out = async {
                    if let Some(stdout) = stdout {
                        out.fill(stdout, live).await;
                    }
                };
                let err = async {
                    if let Some(stderr) = stderr {
                        err.fill(stderr, live).await;
                    }
                };
                tokio::join!(out, err);
            };
            tokio::pin!(pump);
            let end = async {
                supervised.control.begin(&request).await?;
                begun = true;
                until_end(&mut supervised.control, started + job.wall, &cancel).await
            };
            tokio::pin!(end);
            tokio::select! {
                exit = &mut end => {
                    let _ = timeout(DRAIN_TIMEOUT, pump).await;
                    exit
                }
                () = &mut pump => end.await,
            }
        };
        // A supervisor that has reported the end only has to exit.
        let reported = matches!(exit, Ok(Exit::Code(_) | Exit::Signal(_)));
        if !reported && timeout(DRAIN_TIMEOUT, supervised.child.wait()).await.is_err() {
            let _ = supervised.child.start_kill();
        }
        self.reap_and_prestart(supervised.child);
        let (refused, recorded) = (supervised.control.refused(), supervised.control.attempts());
        let (stdout, stderr) = (out.finish(), err.finish());
        let exit = exit.map_err(|error| if begun { error } else { self.explain(error, &stderr.text()) })?;
        let granted = grant.map(|grant| grant.take_attempts()).unwrap_or_default();
        let egress_attempts = granted.merged(recorded).masked(mask);
        Ok(Finished { exit, stdout, stderr, took: started.elapsed(), egress_attempts, refused })
    }
}

async fn until_end(control: &mut Control, deadline: Instant, cancel: &CancellationToken) -> Result<Exit, SandboxError> {
    let stopped = tokio::select! {
        report = control.report() => return exit(report),
        () = sleep_until(deadline.into()) => Exit::TimedOut,
        () = cancel.cancelled() => Exit::Cancelled,
    };
    control.stop().await;
    // The caller kills a supervisor that does not answer; the supervisor's child dies with it.
    let _ = timeout(STOP_TIMEOUT, control.report()).await;
    Ok(stopped)
}

fn exit(report: Option<JobReport>) -> Result<Exit, SandboxError> {
    match report {
        Some(JobReport::Ended(ProcessEnd::Code(code))) => Ok(Exit::Code(code)),
        Some(JobReport::Ended(ProcessEnd::Signal(signal))) => Ok(Exit::Signal(signal)),
        _ => Err(SandboxError::Lost),
    }
}
