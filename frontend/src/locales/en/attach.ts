/** Files that go along with a message. */
export const attach = {
  attachFiles: 'Attach text files',
  attachHere: 'Drop to attach to your message (text files)',
  attachedFiles: 'Attached files',
  attachedNow: 'Attached: {name}',
  attachTooMany: 'A message takes at most {n} files. Send the others with the next one.',
  attachTooLarge:
    'An attached file may have {n} KB. Attach the part that matters, or let it be searched in Knowledge.',
  attachTogether:
    'All attached files may have {n} MB together. Let this one be searched in Knowledge instead.',
  attachNoText:
    'This is no text. Copy a PDF or another document into the folder knowledge/: its text is searched there.',
  attachImage: 'Pictures cannot be attached: only text reaches the model. Attach or type what it says.',
  attachToKnowledge: 'Put into Knowledge',
  pastedName: 'pasted text.txt',
  pastedNameAgain: 'pasted text {n}.txt',
  insertAsText: 'Put back as text',
  removeFile: 'Remove {name}',
  viewFile: 'Look into {name}',
  viewFileHint: 'It goes to the model with the message and cannot be changed here.',
  emptyFile: '(empty)',
  filesNotKept: 'These files are too large for the browser to keep: a reload of the page drops them.',
  filesTooLong:
    'With these files the request has about {n} tokens, and the model reads at most {of}. Attach less, or put them into Knowledge.',
  fileTokens: '{n} tokens',
}
