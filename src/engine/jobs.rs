//! Commands in the background of a session, as people see and stop them.

use super::{Engine, EngineError};
use crate::domain::SessionId;
use crate::tools::project::JobReport;

impl Engine {
    /// Returns the commands that run in the background of a session, and those that have ended since the server started, up to
    /// 16 and oldest first.
    ///
    /// # Errors
    /// Returns an error if there is no such session.
    pub async fn jobs(&self, id: &SessionId) -> Result<Vec<JobReport>, EngineError> {
        // Fails if there is no such session.
        self.view(id).await?;
        Ok(self.tenant.jobs.list(id))
    }

    /// Stops a command with everything that it has started, and returns how it ended; does nothing if it has ended already.
    ///
    /// # Errors
    /// Returns an error if there is no such session, or it has no such command.
    pub async fn stop_job(&self, id: &SessionId, job: &str) -> Result<JobReport, EngineError> {
        self.view(id).await?;
        let job = self.tenant.jobs.get(id, job).ok_or_else(|| EngineError::NoJob(job.to_owned()))?;
        job.stopped().await;
        Ok(job.report())
    }
}
