/** The tour. */
export const tour = {
  tourName: 'Tour',
  tourStep: 'Step {n} of {of}',
  tourLeave: 'Leave the tour',
  tourBack: 'Back',
  tourNext: 'Next',
  tourDone: 'Done',
  tourSoul: 'Change its character',
  tourSoulBody:
    'SOUL.md describes who miniclaw is. It’s plain text, and part of every request. Try this line:',
  tourSoulLine: 'End every response with a greeting from the sea.',
  tourSoulAdd: 'Add it to SOUL.md',
  tourSoulAdded: 'The line is in the editor. It counts once the file is saved.',
  tourSoulSave: 'Save and continue',
  tourAsk: 'Watch the response change',
  tourAskBody: 'Ask something small. miniclaw reads SOUL.md again for every message.',
  tourAskText: 'What can you help me with? Answer in two sentences.',
  tourAskWrite: 'Write a question',
  tourXray: 'See what was sent',
  tourXrayBody:
    'The prompt X-ray shows every part of a request, with its file and its size. Your line is under SOUL.md.',
  tourXrayOpen: 'Open the X-ray',
  tourXrayNone: 'Send a message first: then its X-ray can be opened here.',
  tourSoulRemove: 'Remove the line',
}
