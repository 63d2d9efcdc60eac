import type { FileRef } from '@/lib/roots'
import { isProject } from '@/lib/roots'
import { Mentions } from './Mentions'
import { NoteView } from './NoteView'

/** The preview of a Markdown file of a project, with the notes that mention it. */
export default function NotePreview({ file, text }: { file: FileRef; text: string }) {
  const { root, path } = file
  if (!isProject(root)) return null
  return (
    <>
      <NoteView root={root} path={path} text={text} />
      <Mentions key={`${file}`} file={file} />
    </>
  )
}
