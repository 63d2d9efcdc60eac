/** Files attached to a message. */
export const attach = {
  attachFiles: 'Attach files',
  attachHere: 'Drop to attach to your message (text files and pictures)',
  attachedFiles: 'Attached files',
  attachedNow: 'Attached: {name}',
  attachTooMany: 'A message takes at most {n} {n|file|files}. Send the others with the next one.',
  attachTooLarge:
    'An attached file may have {n} KB. Attach the part that matters, or let it be searched in Knowledge.',
  attachTogether:
    'All attached files may have {n} MB together. Let this one be searched in Knowledge instead.',
  attachNoText:
    'This is no text. Copy a PDF or another document into the folder knowledge/: its text is searched there.',
  attachNoPicture: 'The browser cannot read this as a picture. Attach it as PNG, JPEG, WebP or GIF.',
  attachPictureLarge: 'This picture is too large. Make it smaller first.',
  attachPictures:
    'All pictures of a message may have {n} MB together. Send the others with the next message.',
  cannotSendPictures:
    '{name} cannot see pictures. Choose a model that can, or remove them. If it can, name it in MINICLAW_VISION_MODELS (.env) or under vision_models (config.yml), and start miniclaw again.',
  pictureGone: '{name}: its file is missing or was changed',
  pictureSize: '{width} × {height} pixels',
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
    'With these files the request has about {n} {n|token|tokens}, and the model reads at most {of}. Attach less, or put them into Knowledge.',
  fileTokens: '{n} {n|token|tokens}',
  bytes: '{n} {n|byte|bytes}',
}
