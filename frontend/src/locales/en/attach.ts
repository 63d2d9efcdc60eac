/** Files attached to a message. */
export const attach = {
  attachFiles: 'Attach files',
  attachHere: 'Drop text files or images to attach',
  attachedFiles: 'Attachments',
  attachedNow: 'Attached: {name}',
  attachTooMany: 'You can attach up to {n} {n|file|files} per message. Send the rest in another message.',
  attachTooLarge: 'Attachments can be up to {n} KB. Attach the relevant part, or add the file to Knowledge.',
  attachTogether: 'Attachments can total up to {n} MB. Add this file to Knowledge instead.',
  attachNoText:
    'Unsupported file type. To search a PDF or another document, copy it to the knowledge/ folder.',
  attachNoPicture: 'Can’t read this image. Use PNG, JPEG, WebP or GIF.',
  attachPictureLarge: 'This image is too large. Resize it and try again.',
  attachPictures: 'Images can total up to {n} MB per message. Send the rest in another message.',
  cannotSendPictures:
    '{name} doesn’t support images. Choose another model or remove the images. If it does, add it to MINICLAW_VISION_MODELS (.env) or vision_models (config.yml) and restart miniclaw.',
  pictureGone: '{name}: file is missing or was changed',
  pictureSize: '{width} × {height} pixels',
  attachToKnowledge: 'Add to Knowledge',
  pastedName: 'pasted text.txt',
  pastedNameAgain: 'pasted text {n}.txt',
  insertAsText: 'Insert as text',
  removeFile: 'Remove {name}',
  viewFile: 'View {name}',
  viewFileHint: 'Sent to the model with your message. Read-only.',
  emptyFile: '(empty)',
  filesNotKept: 'These files are too large to keep as a draft. Reloading the page removes them.',
  filesTooLong:
    'With these files, the request is about {n} {n|token|tokens}. The model accepts up to {of}. Attach less, or add the files to Knowledge.',
  fileTokens: '{n} {n|token|tokens}',
  bytes: '{n} {n|byte|bytes}',
}
