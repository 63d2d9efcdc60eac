//! The helper: opens the database in memory, runs the statements within limits, and answers once.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, MAIN_DB};
use serde_json::{Value, json};

use super::{Access, DONE, FAILED, MAX_DATABASE, MAX_RESULT, MAX_ROWS, Request, SqlResult};
use crate::sandbox::{Frame, helper_output};

/// Maximum time for all statements.
const TIME: Duration = Duration::from_secs(30);
/// Number of steps of SQLite's machine between two looks at the clock.
const STEPS: i32 = 10_000;
pub const INTERRUPTED: &str = "interrupted";
pub const OUT_OF_MEMORY: &str = "out of memory";
/// Begins the message about a database that has become too large; its size follows.
pub const TOO_LARGE: &str = "too large: ";
/// Pragmas that only describe the database or change this connection alone.
const PRAGMAS: [&str; 18] = [
    "application_id",
    "collation_list",
    "compile_options",
    "database_list",
    "encoding",
    "foreign_key_check",
    "foreign_key_list",
    "foreign_keys",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "page_count",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
    "user_version",
];

/// Serves one request. Returns the process's exit code.
pub fn serve() -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    let served = || -> io::Result<()> {
        let mut output = helper_output()?;
        let Some(request) = Frame::read(&mut io::stdin().lock())? else { return Ok(()) };
        reply(&request).write(&mut output)
    };
    i32::from(served().is_err())
}

fn reply(frame: &Frame) -> Frame {
    let failed = |message: String| Frame { tag: FAILED, first: message.into_bytes(), second: Vec::new() };
    let request: Request = match serde_json::from_slice(&frame.first) {
        Ok(request) => request,
        Err(error) => return failed(error.to_string()),
    };
    match run(&request, &frame.second) {
        Ok((_, database)) if database.len() > MAX_DATABASE => failed(format!("{TOO_LARGE}{}", database.len())),
        Ok((result, database)) => {
            let first = serde_json::to_vec(&result).expect("rows are JSON");
            Frame { tag: DONE, first, second: database }
        }
        Err(rusqlite::Error::SqliteFailure(code, _)) if code.code == rusqlite::ErrorCode::OperationInterrupted => {
            failed(INTERRUPTED.to_owned())
        }
        Err(rusqlite::Error::SqliteFailure(code, _)) if code.code == rusqlite::ErrorCode::OutOfMemory => {
            failed(OUT_OF_MEMORY.to_owned())
        }
        Err(error) => failed(error.to_string()),
    }
}

fn run(Request { sql, access }: &Request, database: &[u8]) -> rusqlite::Result<(SqlResult, Vec<u8>)> {
    let started = Instant::now();
    let mut connection = Connection::open_in_memory()?;
    if !database.is_empty() {
        connection.deserialize_read_exact(MAIN_DB, database, database.len(), false)?;
    }
    connection.pragma_update(None, "query_only", *access == Access::Read)?;
    connection.progress_handler(STEPS, Some(move || started.elapsed() > TIME))?;
    let table: Arc<OnceLock<String>> = Arc::default();
    let used = table.clone();
    connection.authorizer(Some(move |context: AuthContext<'_>| authorize(&context, &used)))?;
    let mut result = SqlResult::default();
    let before = connection.total_changes();
    let mut batch = Batch::new(&connection, sql);
    while let Some(mut statement) = batch.next()? {
        result.operation = first_word(&statement.expanded_sql().unwrap_or_default());
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        if columns.is_empty() {
            statement.raw_execute()?;
            continue;
        }
        (result.rows, result.row_count) = rows(&mut statement, columns.len())?;
        result.columns = columns;
    }
    result.affected_rows = connection.total_changes() - before;
    result.table = table.get().cloned();
    result.seconds = started.elapsed().as_secs_f64();
    let after = match access {
        Access::Read => Vec::new(),
        Access::Write => serialized(&mut connection)?,
    };
    Ok((result, after))
}

/// Returns the bytes of the database; none if nothing was ever written to it.
fn serialized(connection: &mut Connection) -> rusqlite::Result<Vec<u8>> {
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    if pages == 0 { Ok(Vec::new()) } else { Ok(connection.serialize(MAIN_DB)?.to_vec()) }
}

fn rows(statement: &mut rusqlite::Statement<'_>, columns: usize) -> rusqlite::Result<(Vec<Vec<Value>>, usize)> {
    let (mut kept, mut count, mut size) = (Vec::new(), 0, 0);
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        count += 1;
        if kept.len() >= MAX_ROWS || size >= MAX_RESULT {
            continue;
        }
        let values = (0..columns).map(|at| Ok(value(row.get_ref(at)?))).collect::<rusqlite::Result<Vec<Value>>>()?;
        size += values.iter().map(|value| value.to_string().len()).sum::<usize>();
        if size < MAX_RESULT {
            kept.push(values);
        }
    }
    Ok((kept, count))
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(number) => json!(number),
        ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => json!(format!("[{} bytes]", bytes.len())),
    }
}

fn first_word(sql: &str) -> String {
    let code = sql.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("--")).unwrap_or_default();
    code.chars().take_while(char::is_ascii_alphabetic).collect::<String>().to_ascii_uppercase()
}

/// Refuses what reaches beyond the database: other files, extensions, and settings of the connection that hold its limits.
fn authorize(context: &AuthContext<'_>, used: &OnceLock<String>) -> Authorization {
    let uses = |table: &str| {
        if !table.starts_with("sqlite_") {
            used.get_or_init(|| table.to_owned());
        }
    };
    match context.action {
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => Authorization::Deny,
        AuthAction::Function { function_name } if function_name.eq_ignore_ascii_case("load_extension") => {
            Authorization::Deny
        }
        AuthAction::Pragma { pragma_name, .. } => {
            match PRAGMAS.iter().any(|known| pragma_name.eq_ignore_ascii_case(known)) {
                true => Authorization::Allow,
                false => Authorization::Deny,
            }
        }
        AuthAction::Read { table_name, .. }
        | AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name }
        | AuthAction::CreateTable { table_name }
        | AuthAction::DropTable { table_name } => {
            uses(table_name);
            Authorization::Allow
        }
        _ => Authorization::Allow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(sql: &str, access: Access, database: &[u8]) -> Result<(SqlResult, Vec<u8>), String> {
        run(&Request { sql: sql.to_owned(), access }, database).map_err(|error| error.to_string())
    }

    fn tea() -> Vec<u8> {
        let sql = "CREATE TABLE tea (id INTEGER PRIMARY KEY, name TEXT, price REAL, leaf BLOB);
                   INSERT INTO tea (name, price, leaf) VALUES ('龙井', 9.5, x'00ff'), ('oolong', NULL, NULL);";
        ran(sql, Access::Write, &[]).unwrap().1
    }

    #[test]
    fn rows_have_columns_types_and_counts() {
        let (result, _) = ran("SELECT * FROM tea ORDER BY id", Access::Read, &tea()).unwrap();
        assert_eq!(result.columns, ["id", "name", "price", "leaf"]);
        assert_eq!(result.rows[0], [json!(1), json!("龙井"), json!(9.5), json!("[2 bytes]")]);
        assert_eq!(result.rows[1], [json!(2), json!("oolong"), json!(null), json!(null)]);
        assert_eq!((result.row_count, result.affected_rows), (2, 0));
        assert_eq!((result.operation.as_str(), result.table.as_deref()), ("SELECT", Some("tea")));
    }

    #[test]
    fn write_returns_a_new_database_and_a_read_cannot() {
        let before = tea();
        let (result, after) =
            ran("UPDATE tea SET price = 1; DELETE FROM tea WHERE id = 2", Access::Write, &before).unwrap();
        assert_eq!((result.affected_rows, result.operation.as_str()), (3, "DELETE"));
        assert_eq!(ran("SELECT count(*) FROM tea", Access::Read, &after).unwrap().0.rows, [[json!(1)]]);
        let refused = ran("DELETE FROM tea", Access::Read, &before).unwrap_err();
        assert!(refused.contains("readonly"), "{refused}");
    }

    #[test]
    fn statement_that_reaches_beyond_the_database_is_refused() {
        for sql in [
            "ATTACH '/etc/passwd' AS x",
            "ATTACH ':memory:' AS x",
            "SELECT load_extension('x')",
            "PRAGMA query_only = 0",
            "PRAGMA temp_store_directory = '/tmp'",
            "PRAGMA writable_schema = 1",
            "VACUUM INTO '/tmp/x.db'",
        ] {
            assert!(ran(sql, Access::Write, &tea()).is_err(), "{sql}");
        }
        assert!(ran("PRAGMA table_info(tea)", Access::Read, &tea()).is_ok());
    }

    #[test]
    fn flood_of_rows_is_counted_and_cut() {
        let many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000) SELECT x FROM n";
        let (result, _) = ran(many, Access::Read, &[]).unwrap();
        assert_eq!((result.rows.len(), result.row_count), (MAX_ROWS, 5000));
        let wide = "SELECT printf('%.*c', 600000, 'x') UNION ALL SELECT printf('%.*c', 600000, 'y')";
        let (result, _) = ran(wide, Access::Read, &[]).unwrap();
        assert_eq!((result.rows.len(), result.row_count), (1, 2));
    }

    #[test]
    fn bytes_that_are_no_database_are_an_error() {
        assert!(ran("SELECT * FROM sqlite_schema", Access::Read, b"no database at all, but long enough").is_err());
    }
}
