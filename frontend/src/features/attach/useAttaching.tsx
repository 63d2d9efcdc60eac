/** What the composer does with files: taken from a button, a drop or a paste, shown above the text, sent with it. */
import { lazy, type ReactNode, type RefObject, Suspense } from 'react'
import { setDraftFiles, useAttachments, useDraftFiles } from '@/stores/attachments'
import { readDraft, setDraft } from '@/stores/drafts'
import { fits, isBigPaste } from './limits'

const DraftFiles = lazy(() => import('./DraftFiles'))
const take = () => import('./take')

export interface Attaching {
  /** Files that would go along. */
  count: number
  onFiles: (files: File[]) => void
  /** True where it took what was pasted, so that the field does not. */
  onPaste: (data: DataTransfer) => boolean
  chips: ReactNode
}

export function useAttaching(session: string, input: RefObject<HTMLTextAreaElement | null>): Attaching {
  const files = useDraftFiles(session)
  const unkept = useAttachments(s => s.unkept[session]) ?? false
  const without = (id: string) => {
    setDraftFiles(
      session,
      files.filter(file => file.id !== id),
    )
    input.current?.focus()
  }
  const onFiles = (chosen: File[]) => void take().then(({ attach }) => attach(session, chosen))
  const onPaste = (data: DataTransfer): boolean => {
    const text = data.getData('text/plain')
    // Cells of a table come as a text and as a picture of it.
    if (data.files.length > 0 && text === '') onFiles([...data.files])
    else if (isBigPaste(text) && fits(files, text))
      void take().then(({ attachPasted }) => attachPasted(session, text))
    else return false
    return true
  }
  const chips = files.length > 0 && (
    <Suspense>
      <DraftFiles
        files={files}
        unkept={unkept}
        onRemove={without}
        onInsert={file => {
          const at = input.current?.selectionStart
          const text = readDraft(session)
          const caret = at === undefined || at === null ? text.length : Math.min(at, text.length)
          setDraft(session, text.slice(0, caret) + file.content + text.slice(caret))
          without(file.id)
        }}
      />
    </Suspense>
  )
  return { count: files.length, onFiles, onPaste, chips }
}
