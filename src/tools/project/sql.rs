//! `sql`: statements on an SQLite database of the project. Reading needs no question; a write is made on a copy, and the
//! changed database replaces the file as any other change of a file does: whole, if nobody changed it meanwhile, undoable.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{Failure, Verb};
use super::{ProjectFiles, spec};
use crate::database::{self, Access, Ran, SqlError, SqlResult};
use crate::domain::visible::visible;
use crate::domain::{Effect, Language, Place, SessionId, Shown, ToolAnswer, ToolSpec};
use crate::sandbox::{Level, Sandbox};
use crate::store::{ChangeSet, FileChange, FileMode, FileState, StoreError, etag};
use crate::tools::files::{CallChange, Consent};
use crate::tools::{EndRun, OutsideText, Prepared, PreparedCall, RunOptions, Tool, ToolContext, read};

/// The database of a call that names none.
const DATABASE: &str = "data.sqlite";
/// Maximum characters of rows for the model.
const SHOWN: usize = 10_000;
const EXECUTE: Verb = Verb { word: "execute", past: "executed", label: "执行结果" };

pub struct SqlTool {
    files: ProjectFiles,
    sandbox: Sandbox,
    spec: ToolSpec,
}

impl SqlTool {
    pub fn new(files: ProjectFiles, sandbox: Sandbox) -> Self {
        let properties = json!({
            "sql": {"type": "string", "minLength": 1}, "database": {"type": "string"}, "write": {"type": "boolean"},
        });
        let description =
            "Run SQL on an SQLite file of the project (data.sqlite). write: true to change it, or to make it.";
        Self { files, sandbox, spec: spec("sql", description, (properties, &["sql"]), Effect::Write) }
    }
}

#[derive(Clone, Deserialize)]
struct Arguments {
    sql: String,
    #[serde(default)]
    database: Option<String>,
    #[serde(default)]
    write: bool,
}

struct SqlCall {
    files: ProjectFiles,
    sandbox: Sandbox,
    arguments: Arguments,
    place: Place,
    /// The file when the call was prepared; `None` if there was none.
    before: Option<FileState>,
    session: SessionId,
    call_id: String,
    language: Language,
}

/// What statements have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Nothing,
    Database,
}

impl Tool for SqlTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, context: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        Box::pin(async move {
            let arguments: Arguments = read("sql", arguments)?;
            let language = context.conversation.language();
            let refused = |failure: Failure| Box::new(failed(&arguments, &failure, language));
            let name = arguments.database.as_deref().unwrap_or(DATABASE);
            let place = self.files.file(name).map_err(refused)?;
            if !self.files.is_in_project(&place) {
                return Err(refused(Failure::protected()));
            }
            let access = if arguments.write { Access::Write } else { Access::Read };
            let before = current(&self.files, (&place, access)).await.map_err(refused)?;
            if before.is_none() && !arguments.write {
                return Err(refused(Failure::not_found()));
            }
            let (session, call_id) = (context.session.clone(), context.call_id.to_owned());
            let (files, sandbox) = (self.files.clone(), self.sandbox.clone());
            let call = SqlCall { files, sandbox, arguments, place, before, session, call_id, language };
            Ok(Box::new(call) as Box<dyn PreparedCall>)
        })
    }
}

/// Returns the database file.
///
/// # Errors
/// Returns an error if it cannot be read, or if another program has changes of it in a log beside it; and, if it is to be
/// changed, if it or a folder above it is a link: nobody would be asked about the file that the link leads to.
async fn current(files: &ProjectFiles, (place, access): (&Place, Access)) -> Result<Option<FileState>, Failure> {
    let (files, place) = (files.clone(), place.clone());
    let read = tokio::task::spawn_blocking(move || {
        let home = &files.access.home;
        if let Some(link) = home.link_on_way(&place).filter(|_| access == Access::Write) {
            return Err(Failure::linked(&files.name(&link)));
        }
        for log in ["-wal", "-journal"] {
            let log = Place::parse(&format!("{place}{log}")).map_err(Failure::bad_path)?;
            if home.file_state(&log)?.is_some_and(|log| !log.bytes.is_empty()) {
                return Err(Failure::new(
                    "in_use",
                    "数据库正被其他程序使用",
                    "another program has it open, or did not close it; close it there, or use its own tool in a command",
                ));
            }
        }
        Ok(home.file_state(&place)?)
    });
    read.await.unwrap_or_else(|_| Err(Failure::new("cut_off", "读取被中断", "reading it was cut off; try again")))
}

impl SqlCall {
    async fn execute(&self, options: RunOptions<'_>) -> Result<ToolAnswer, EndRun> {
        let access = if self.arguments.write { Access::Write } else { Access::Read };
        let now = match current(&self.files, (&self.place, access)).await {
            Ok(now) => now,
            Err(failure) => return Ok(failed(&self.arguments, &failure, self.language)),
        };
        if options.approved.is_some() && now != self.before {
            return Ok(failed(&self.arguments, &Failure::conflict(), self.language));
        }
        let bytes = now.as_ref().map(|now| now.bytes.as_slice()).unwrap_or_default();
        let running = database::run(&self.sandbox, (&self.arguments.sql, access), bytes);
        let ran = tokio::select! {
            ran = running => ran,
            () = options.cancel.cancelled() => {
                return Err(EndRun::Cancelled { text: String::new(), egress_attempts: Default::default() });
            }
        };
        let Ran { result, database } = match ran {
            Ok(ran) => ran,
            Err(error) => return Ok(failed(&self.arguments, &error.into(), self.language)),
        };
        let Some(after) = database else { return Ok(self.answer(&result, Written::Nothing)) };
        let mode = now.as_ref().map_or(FileMode::Regular, |now| now.mode);
        let change =
            FileChange { path: self.place.clone(), before: now, after: Some(FileState { bytes: after, mode }) };
        let made = (self.files.access.apply)(CallChange {
            session: self.session.clone(),
            call_id: self.call_id.clone(),
            files: ChangeSet(vec![change]),
            folders: Vec::new(),
            consent: if options.approved.is_some() { Consent::Person } else { Consent::Policy },
        });
        Ok(match made.await {
            Ok(()) => self.answer(&result, Written::Database),
            Err(StoreError::ShutDown) => return Err(EndRun::Broken("the change of a database was cut off".to_owned())),
            Err(error) => failed(&self.arguments, &error.into(), self.language),
        })
    }

    fn answer(&self, result: &SqlResult, written: Written) -> ToolAnswer {
        let row = |values: &Vec<Value>| -> Value {
            result.columns.iter().cloned().zip(values.iter().cloned()).collect::<Map<String, Value>>().into()
        };
        let mut data = json!({
            "sql": self.arguments.sql, "result": EXECUTE.result(None, self.language),
            "execution_time": format!("{:.3}s", result.seconds), "affected_rows": result.affected_rows,
            "rows": result.rows.iter().map(row).collect::<Vec<_>>(),
            "schema_info": {"table": result.table, "columns": result.columns, "operation_type": result.operation},
            "query_summary": {"rows_returned": result.rows.len(), "columns_count": result.columns.len(),
                "rows_found": result.row_count},
        });
        if written == Written::Database {
            data["undo"] = json!(true);
            data["changes"] = json!([{"path": self.place.as_str(), "added": 0, "removed": 0, "deleted": false}]);
        }
        let message = match result.columns.is_empty() {
            true => format!("{} rows changed", result.affected_rows),
            false => format!("{} rows", result.row_count),
        };
        ToolAnswer::done(message, text(result)).with_data(data).with_code(&self.arguments.sql)
    }
}

/// Returns the rows for the model: a line of columns, then a line for each row, with tabs between values.
fn text(result: &SqlResult) -> String {
    if result.columns.is_empty() {
        return format!("[{} rows changed]", result.affected_rows);
    }
    let plain =
        |value: &Value| value.as_str().map_or_else(|| value.to_string(), |text| text.replace(['\t', '\n'], " "));
    let mut text = result.columns.join("\t");
    let mut shown = 0;
    for row in &result.rows {
        let line = row.iter().map(plain).collect::<Vec<_>>().join("\t");
        if text.chars().count() + line.chars().count() > SHOWN {
            break;
        }
        text.push('\n');
        text.push_str(&line);
        shown += 1;
    }
    if shown < result.row_count {
        text.push_str(&format!(
            "\n[{shown} of {} rows; ask for fewer columns, or with LIMIT and OFFSET]",
            result.row_count
        ));
    }
    text
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        let (code, chinese) = match &error {
            SqlError::Statement(_) => ("sql", "SQL 语句有误"),
            SqlError::ReadOnly => ("read_only", "未允许写入"),
            SqlError::Timeout => ("timeout", "执行超时"),
            SqlError::Memory => ("memory", "内存不足"),
            SqlError::TooLarge(_) => ("too_large", "数据库过大"),
            SqlError::NotStarted(_) => ("not_started", "无法执行"),
        };
        Failure::new(code, chinese, error.to_string())
    }
}

fn failed(arguments: &Arguments, failure: &Failure, language: Language) -> ToolAnswer {
    let data = json!({"sql": arguments.sql, "result": EXECUTE.result(Some(failure), language), "code": failure.code,
        "affected_rows": 0, "rows": []});
    ToolAnswer::failed(format!("{}.", failure.advice)).with_data(data).with_code(&arguments.sql)
}

impl PreparedCall for SqlCall {
    fn effect(&self) -> Effect {
        if self.arguments.write { Effect::Write } else { Effect::Read }
    }

    fn shown(&self) -> Shown {
        let before = self.before.as_ref().map(|before| etag(&before.bytes));
        Shown { command: visible(&self.arguments.sql), path: Some(self.place.to_string()), before, ..Shown::default() }
    }

    fn changes(&self) -> &[Place] {
        if self.arguments.write { std::slice::from_ref(&self.place) } else { &[] }
    }

    fn level(&self) -> Option<Level> {
        None
    }

    fn outside_text(&self) -> OutsideText {
        OutsideText::from_source(self.files.taint(&self.place))
    }

    fn run<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(self.execute(options))
    }
}
