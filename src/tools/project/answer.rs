//! What becomes of each item of a call: the strings of the session-operations document, with stable codes beside them.

use serde_json::{Map, Value, json};

use crate::domain::{BadPath, Language};
use crate::store::StoreError;

/// Why an item of a call failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// A stable name of the reason: `exists`, `not_found` …
    pub code: &'static str,
    /// The reason in Chinese, as records have it.
    chinese: &'static str,
    /// The reason for the model, with what to do about it.
    pub advice: String,
}

impl Failure {
    pub fn new(code: &'static str, chinese: &'static str, advice: impl Into<String>) -> Self {
        Self { code, chinese, advice: advice.into() }
    }

    pub fn exists() -> Self {
        Self::new("exists", "文件已存在", "it exists already; change it with edit_file, or choose another name")
    }

    pub fn not_found() -> Self {
        Self::new("not_found", "文件不存在", "it does not exist; list_files shows what there is")
    }

    pub fn is_folder() -> Self {
        Self::new("is_folder", "文件夹无法读取", "it is a folder; list_files shows what is in it")
    }

    pub fn not_empty() -> Self {
        Self::new("not_empty", "文件夹不为空", "it is a folder; delete it and all that is in it with recursive: true")
    }

    pub fn no_parent() -> Self {
        Self::new("no_parent", "父目录不存在", "a file stands where its folder would be")
    }

    /// A folder on the way is a link. What is changed through it could not be undone: it has another path.
    pub fn linked(folder: &str) -> Self {
        Self::new("denied", "拒绝访问", format!("{folder} is a link; use the path that it leads to"))
    }

    pub fn protected() -> Self {
        Self::new("protected", "路径受保护", ".git belongs to git; use git in a command")
    }

    pub fn only_project() -> Self {
        Self::new("protected", "路径受保护", "only the project is searched; read_file reads a file of the home")
    }

    pub fn bad_path(bad: BadPath) -> Self {
        let advice = match bad {
            BadPath::Outside(path) => {
                format!("{path} is no file of the home; its folders are workspace/, memory/, skills/ and knowledge/")
            }
            other => other.to_string(),
        };
        Self::new("bad_path", "路径无效", advice)
    }

    pub fn too_large(advice: impl Into<String>) -> Self {
        Self::new("too_large", "文件过大", advice)
    }

    pub fn unchanged() -> Self {
        Self::new("unchanged", "内容没有变化", "it is like that already")
    }

    pub fn duplicate() -> Self {
        Self::new("duplicate", "路径重复", "another item of this call has the same path")
    }

    pub fn conflict() -> Self {
        Self::new("conflict", "文件已被他人修改", "somebody else changed it meanwhile; read it again")
    }

    pub fn not_text() -> Self {
        Self::new("not_text", "不是文本文件", "it is not text")
    }

    pub fn damaged_picture() -> Self {
        Self::new("damaged_picture", "图片已损坏", "it begins like a picture, but it is damaged or incomplete")
    }

    pub fn bad_edit(advice: impl Into<String>) -> Self {
        Self::new("bad_edit", "编辑操作无效", advice)
    }

    pub fn no_match(advice: impl Into<String>) -> Self {
        Self::new("no_match", "未找到要替换的内容", advice)
    }

    pub fn many_matches(advice: impl Into<String>) -> Self {
        Self::new("many_matches", "匹配到多处内容", advice)
    }

    /// Returns the reason as a record has it.
    pub fn reason(&self, language: Language) -> String {
        match language {
            Language::Chinese => self.chinese.to_owned(),
            Language::English => self.code.replace('_', " "),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::NotFound { .. } => Self::not_found(),
            StoreError::Exists { .. } => Self::exists(),
            StoreError::Conflict { .. } => Self::conflict(),
            StoreError::NotText { .. } => Self::not_text(),
            StoreError::TooLarge { .. } => Self::too_large(error.to_string()),
            StoreError::DiskFull => Self::new("disk_full", "磁盘空间不足", error.to_string()),
            StoreError::NotAllowed { why: "it is a folder", .. } => Self::is_folder(),
            StoreError::NotAllowed { .. } => Self::new("denied", "权限不足", error.to_string()),
            _ if error.is_missing_folder() => Self::no_parent(),
            _ => Self::new("denied", "权限不足", error.to_string()),
        }
    }
}

/// What a tool does, as the strings of its results say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verb {
    /// In English, as the document writes it: `create`; empty if the results have no verb.
    pub word: &'static str,
    /// The same of what was done: `created`.
    pub past: &'static str,
    /// The document's label in Chinese: `创建结果`.
    pub label: &'static str,
}

impl Verb {
    /// Returns the result of one item: `创建结果：create fail【文件已存在】`, or `create fail [exists]` in English.
    pub fn result(self, failure: Option<&Failure>, language: Language) -> String {
        let words = format!("{} {}", self.word, if failure.is_some() { "fail" } else { "success" });
        let (label, words) = (self.label, words.trim_start());
        match (language, failure.map(|failure| failure.reason(language))) {
            (Language::Chinese, None) => format!("{label}：{words}"),
            (Language::Chinese, Some(reason)) => format!("{label}：{words}【{reason}】"),
            (Language::English, None) => words.to_owned(),
            (Language::English, Some(reason)) => format!("{words} [{reason}]"),
        }
    }
}

/// Collects the failures of a call's items.
#[derive(Default)]
pub struct FailedDetails(Vec<Value>);

impl FailedDetails {
    /// Adds a failed item with its own fields: which file or command it is.
    pub fn add(&mut self, mut fields: Value, failure: &Failure, language: Language) {
        fields["reason"] = json!(failure.reason(language));
        fields["code"] = json!(failure.code);
        self.0.push(fields);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn into_value(self) -> Value {
        Value::Array(self.0)
    }
}

/// Puts results by path and a summary into the data of an answer. Every path begins with `/` or `home:`, so none is
/// `summary`.
pub fn data(rows: impl IntoIterator<Item = (String, Value)>, summary: Value) -> Value {
    let mut data: Map<String, Value> = rows.into_iter().collect();
    data.insert("summary".to_owned(), summary);
    Value::Object(data)
}

/// Returns the message of a call: everything, some of it, or nothing was done.
pub fn message(total: usize, failed: usize, language: Language) -> String {
    match (language, failed) {
        (Language::Chinese, 0) => "全部成功".to_owned(),
        (Language::Chinese, failed) if failed == total => "全部失败".to_owned(),
        (Language::Chinese, failed) => format!("部分失败：{total} 项中有 {failed} 项失败"),
        (Language::English, 0) => "done".to_owned(),
        (Language::English, failed) if failed == total => "failed".to_owned(),
        (Language::English, failed) => format!("{failed} of {total} failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_strings_of_the_document() {
        let create = Verb { word: "create", past: "created", label: "创建结果" };
        let exists = Failure::exists();
        assert_eq!(create.result(None, Language::Chinese), "创建结果：create success");
        assert_eq!(create.result(Some(&exists), Language::Chinese), "创建结果：create fail【文件已存在】");
        assert_eq!(create.result(None, Language::English), "create success");
        assert_eq!(create.result(Some(&exists), Language::English), "create fail [exists]");
        assert_eq!(message(5, 3, Language::Chinese), "部分失败：5 项中有 3 项失败");
        assert_eq!([message(2, 0, Language::English), message(2, 2, Language::English)], ["done", "failed"]);
    }
}
