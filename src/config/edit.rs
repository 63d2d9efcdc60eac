//! Changes single values of config.yml and keeps everything else: comments, order, blank lines and quotes.
//!
//! `yaml-edit` makes the change. What it made is then compared with the change made on the parsed values, and with the
//! comments there were, so that no file is written that says something else.

use std::str::FromStr;

use serde_json::Value;
use yaml_edit::{Document, Mapping, Sequence, YamlFile, YamlNode};

/// A change of one value. Without a value, its key or its item is removed, and a mapping or a list that is empty
/// afterwards too.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    pub path: Vec<Step>,
    pub value: Option<Value>,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Key(String),
    /// An item of a list by its index; the index after the last one adds an item.
    Item(usize),
}

/// Why a file could not be changed; it is left as it is then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "config.yml is written in a form that cannot be changed from here without losing something; edit the file itself"
)]
pub struct CannotEdit;

impl Edit {
    /// Creates an edit of a key, whose path is written with dots: `approvals.effects.read`.
    pub fn of_key(key: &str, value: Option<Value>) -> Self {
        Self { path: key.split('.').map(|name| Step::Key(name.to_owned())).collect(), value }
    }
}

/// Returns the text with these changes.
///
/// # Errors
/// Returns [`CannotEdit`] if the text is not a YAML mapping, or if a change would alter or lose anything else.
pub fn edited(text: &str, edits: &[Edit]) -> Result<String, CannotEdit> {
    let mut text = text.to_owned();
    for edit in edits {
        let old = values(&text)?;
        let expected = changed(&old, edit);
        if expected == old {
            continue;
        }
        let new = apply(&text, &old, edit)?;
        if values(&new)? != expected || !keeps_comments(&text, &new, edit, &old) {
            return Err(CannotEdit);
        }
        text = new;
    }
    Ok(text)
}

/// Parses the text into values; a text without any is an empty mapping.
pub fn values(text: &str) -> Result<Value, CannotEdit> {
    let parsed: serde_yaml::Value = serde_yaml::from_str(text).map_err(|_| CannotEdit)?;
    match serde_json::to_value(parsed).map_err(|_| CannotEdit)? {
        Value::Null => Ok(Value::Object(serde_json::Map::new())),
        mapping @ Value::Object(_) => Ok(mapping),
        _ => Err(CannotEdit),
    }
}

/// Returns the value at a path.
pub fn at<'a>(values: &'a Value, path: &[Step]) -> Option<&'a Value> {
    path.iter().try_fold(values, |value, step| match step {
        Step::Key(name) => value.get(name),
        Step::Item(index) => value.get(index),
    })
}

/// Makes the change on the parsed values.
fn changed(old: &Value, edit: &Edit) -> Value {
    let mut new = old.clone();
    match &edit.value {
        Some(value) => set(&mut new, &edit.path, value),
        None => {
            remove(&mut new, &edit.path);
        }
    }
    new
}

fn set(target: &mut Value, path: &[Step], value: &Value) {
    match path {
        [] => *target = value.clone(),
        [Step::Key(name), rest @ ..] => {
            if !target.is_object() {
                *target = Value::Object(serde_json::Map::new());
            }
            if let Value::Object(fields) = target {
                set(fields.entry(name.as_str()).or_insert(Value::Null), rest, value);
            }
        }
        [Step::Item(index), rest @ ..] => {
            if !target.is_array() {
                *target = Value::Array(Vec::new());
            }
            if let Value::Array(items) = target {
                if *index >= items.len() {
                    items.push(Value::Null);
                }
                let last = items.len() - 1;
                set(&mut items[(*index).min(last)], rest, value);
            }
        }
    }
}

/// Removes what is at the path. Returns whether `target` is empty afterwards.
fn remove(target: &mut Value, path: &[Step]) -> bool {
    match (path, &mut *target) {
        ([Step::Key(name), rest @ ..], Value::Object(fields)) => {
            if let Some(inner) = fields.get_mut(name)
                && (rest.is_empty() || remove(inner, rest))
            {
                fields.shift_remove(name);
                return fields.is_empty();
            }
            false
        }
        ([Step::Item(index), rest @ ..], Value::Array(items)) => {
            if let Some(inner) = items.get_mut(*index)
                && (rest.is_empty() || remove(inner, rest))
            {
                items.remove(*index);
                return items.is_empty();
            }
            false
        }
        _ => false,
    }
}

/// Makes the change in the text.
fn apply(text: &str, old: &Value, edit: &Edit) -> Result<String, CannotEdit> {
    let (path, value) = exact(old, edit);
    let is_empty = old.as_object().is_none_or(serde_json::Map::is_empty);
    if is_empty {
        return appended(text, path, value.as_ref());
    }
    let file = YamlFile::from_str(text).map_err(|_| CannotEdit)?;
    let root = YamlNode::Mapping(file.document().and_then(|document| document.as_mapping()).ok_or(CannotEdit)?);
    let (last, before) = path.split_last().ok_or(CannotEdit)?;
    let parent = before.iter().try_fold(root, |node, step| descend(&node, step)).ok_or(CannotEdit)?;
    match (&parent, last, value) {
        (YamlNode::Mapping(mapping), Step::Key(name), Some(value)) => set_key(mapping, name, &value)?,
        (YamlNode::Mapping(mapping), Step::Key(name), None) => drop(mapping.remove(name.as_str())),
        (YamlNode::Sequence(items), Step::Item(index), Some(value)) => set_item(items, *index, &value)?,
        (YamlNode::Sequence(items), Step::Item(index), None) => drop(items.remove(*index)),
        _ => return Err(CannotEdit),
    }
    Ok(file.to_string())
}

/// Returns the path at which the text changes, and the value there: what is missing above the value is added with it,
/// and what would be empty without it is removed with it.
fn exact<'a>(old: &Value, edit: &'a Edit) -> (&'a [Step], Option<Value>) {
    let mut depth = edit.path.len();
    match &edit.value {
        Some(value) => {
            let holds = |value: Option<&Value>, step: &Step| match (value, step) {
                (Some(Value::Object(fields)), Step::Key(_)) => !fields.is_empty(),
                (Some(Value::Array(items)), Step::Item(_)) => !items.is_empty(),
                _ => false,
            };
            while depth > 1 && !holds(at(old, &edit.path[..depth - 1]), &edit.path[depth - 1]) {
                depth -= 1;
            }
            let mut whole = Value::Null;
            set(&mut whole, &edit.path[depth..], value);
            (&edit.path[..depth], Some(whole))
        }
        None => {
            let size = |value: Option<&Value>| match value {
                Some(Value::Object(fields)) => fields.len(),
                Some(Value::Array(items)) => items.len(),
                _ => 0,
            };
            while depth > 1 && size(at(old, &edit.path[..depth - 1])) == 1 {
                depth -= 1;
            }
            (&edit.path[..depth], None)
        }
    }
}

fn descend(node: &YamlNode, step: &Step) -> Option<YamlNode> {
    match (node, step) {
        (YamlNode::Mapping(mapping), Step::Key(name)) => mapping.get(name.as_str()),
        (YamlNode::Sequence(items), Step::Item(index)) => items.get(*index),
        _ => None,
    }
}

/// Appends the first value to a text that has only comments.
fn appended(text: &str, path: &[Step], value: Option<&Value>) -> Result<String, CannotEdit> {
    let mut whole = Value::Null;
    set(&mut whole, path, value.ok_or(CannotEdit)?);
    let lines: Vec<&str> = text.lines().collect();
    let comments_only = lines.iter().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    if !comments_only {
        return Err(CannotEdit);
    }
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{text}{newline}{}", yaml(&whole)?))
}

fn set_key(mapping: &Mapping, name: &str, value: &Value) -> Result<(), CannotEdit> {
    if let (Some(YamlNode::Sequence(items)), Value::Array(wanted)) = (mapping.get(name), value)
        && set_items(&items, wanted)?
    {
        return Ok(());
    }
    // Inside brackets everything is in brackets.
    let inside_brackets = mapping.to_string().trim_start().starts_with('{');
    let in_brackets = inside_brackets && (value.is_object() || value.is_array());
    mapping.set(name, if in_brackets { parsed(&value.to_string())? } else { node(value)? });
    Ok(())
}

fn set_item(items: &Sequence, index: usize, value: &Value) -> Result<(), CannotEdit> {
    let node = node(value)?;
    if index < items.len() {
        items.set(index, node);
    } else {
        items.push(node);
    }
    Ok(())
}

/// Changes a list of words item by item, so that the comments of the items that stay do too. Returns `false`, and
/// changes nothing, if no item stays or the order is another one.
fn set_items(items: &Sequence, wanted: &[Value]) -> Result<bool, CannotEdit> {
    let known: Vec<Option<String>> = items.values().map(|item| word(&item)).collect();
    let wanted: Option<Vec<&str>> = wanted.iter().map(Value::as_str).collect();
    let (Some(known), Some(wanted)) = (known.into_iter().collect::<Option<Vec<_>>>(), wanted) else { return Ok(false) };
    let stay: Vec<&str> = known.iter().map(String::as_str).filter(|word| wanted.contains(word)).collect();
    let in_order: Vec<&str> = wanted.iter().copied().filter(|word| stay.contains(word)).collect();
    if stay.is_empty() || stay != in_order {
        return Ok(false);
    }
    for index in (0..known.len()).rev().filter(|index| !stay.contains(&known[*index].as_str())) {
        items.remove(index);
    }
    for (index, word) in wanted.iter().enumerate().filter(|(_, word)| !stay.contains(word)) {
        let node = node(&Value::from(*word))?;
        if index < items.len() { items.insert(index, node) } else { items.push(node) }
    }
    Ok(true)
}

/// Returns the text of a scalar.
fn word(node: &YamlNode) -> Option<String> {
    match node {
        YamlNode::Scalar(scalar) => match serde_yaml::from_str(&scalar.to_string()).ok()? {
            serde_yaml::Value::String(word) => Some(word),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a value as a node: lists of scalars on one line, other collections as blocks.
fn node(value: &Value) -> Result<YamlNode, CannotEdit> {
    parsed(&yaml(value)?)
}

fn parsed(text: &str) -> Result<YamlNode, CannotEdit> {
    let document = Document::from_str(text).map_err(|_| CannotEdit)?;
    let mapping = document.as_mapping().map(YamlNode::Mapping);
    let list = || document.as_sequence().map(YamlNode::Sequence);
    mapping.or_else(list).or_else(|| document.as_scalar().map(YamlNode::Scalar)).ok_or(CannotEdit)
}

/// Whether a text means the same inside and outside of brackets without quotes, unless it looks like another type.
fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    text.chars().all(plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn yaml(value: &Value) -> Result<String, CannotEdit> {
    match value {
        // JSON is YAML.
        Value::String(text) if !is_word(text) => Ok(value.to_string()),
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => Ok(value.to_string()),
        _ => serde_yaml::to_string(value).map_err(|_| CannotEdit),
    }
}

/// Returns whether all comments are still there, except those inside what was removed or replaced as a whole.
fn keeps_comments(old: &str, new: &str, edit: &Edit, values: &Value) -> bool {
    let (Ok(before), Ok(after)) = (YamlFile::from_str(old), YamlFile::from_str(new)) else { return false };
    let mut after: Vec<String> = after.comments().map(|comment| comment.text().to_owned()).collect();
    let lost = before.comments().filter(|comment| match after.iter().position(|text| *text == comment.text()) {
        Some(place) => {
            after.swap_remove(place);
            false
        }
        None => true,
    });
    let may_lose =
        edit.value.is_none() || at(values, &edit.path).is_some_and(|value| value.is_array() || value.is_object());
    lost.count() == 0 || may_lose
}

#[cfg(test)]
mod tests;
