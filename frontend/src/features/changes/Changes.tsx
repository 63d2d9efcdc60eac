import { ArrowLeft, Filter } from 'lucide-react'
import { useState } from 'react'
import { useChanges } from '@/api/changeQueries'
import type { ChangedFile } from '@/api/types'
import { undoAll } from '@/app/threads'
import { IconButton } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { Input } from '@/components/ui/Input'
import { QueryError } from '@/components/ui/QueryError'
import { Segmented } from '@/components/ui/Segmented'
import { Skeleton } from '@/components/ui/Skeleton'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { store, stored } from '@/lib/storage'
import { useWidth } from '@/lib/useMedia'
import { useLive } from '@/stores/live'
import { closeDialog, openPath } from '@/stores/ui'
import { shownThread } from '@/thread/loaded'
import { ChangeTree } from './ChangeTree'
import { Commits } from './Commits'
import { FileChange } from './FileChange'
import { callsOf } from './kinds'
import { Problems } from './Problems'
import type { View } from './TextDiff'
import { firstOf, matching } from './tree'
import { ViewChoice } from './ViewChoice'
import { Works } from './Works'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  sessionId: string
  /** The work whose changes are shown at first; null for the whole conversation. */
  work: string | null
}

type Scope = 'work' | 'session'

const NONE: readonly ChangedFile[] = []

/** Which changes are shown: those of one work, which is the newest unless another was chosen, or all. */
function useScope(sessionId: string, work: string | null) {
  const [scope, setScope] = useState<Scope>(work === null ? 'session' : 'work')
  const [chosen, setChosen] = useState(work)
  const all = useChanges(sessionId, null)
  const shown = scope === 'work' ? (chosen ?? all.data?.works.at(-1)?.work_id ?? null) : null
  const showOnly = (id: string) => {
    setChosen(id)
    setScope('work')
  }
  return { scope, setScope, showOnly, work: shown, all, found: useChanges(sessionId, shown) }
}

/** What a conversation, or one of its responses, changed in files. */
export default function Changes({ open, onOpenChange, sessionId, work: first }: Props) {
  const t = useT()
  const narrow = useWidth() === 'narrow'
  const { scope, setScope, showOnly, work, all, found } = useScope(sessionId, first)
  const [text, setText] = useState('')
  const [path, setPath] = useState<string | null>(null)
  /** On a narrow screen, the file is shown in place of the list; then the list again, with the focus on the file. */
  const [pane, setPane] = useState<'list' | 'file' | 'back'>('list')
  const [view, setView] = useState<View>({
    layout: stored('diff') === 'sides' ? 'sides' : 'inline',
    whole: false,
  })
  const [scroller, setScroller] = useState<HTMLElement | null>(null)
  const running = useLive(s => shownThread(s.threads[sessionId])?.running != null)
  const files = matching(found.data?.files ?? NONE, text)
  const file = files.find(other => other.path === path) ?? firstOf(files)
  const onlyFile = narrow && pane === 'file' && file !== null

  const scopes = [
    { value: 'work', words: t('changesOfAnswer') },
    { value: 'session', words: t('changesOfAll') },
  ] as const
  const choose = (chosen: View) => {
    setView(chosen)
    store('diff', chosen.layout)
  }
  const empty = () => {
    if (text.trim() !== '') return t('changesNotFound', { text: text.trim() })
    return t(scope === 'work' ? 'changesNoneOfAnswer' : 'changesNone')
  }
  return (
    <Dialog size="full" open={open} onOpenChange={onOpenChange} title={t('changes')}>
      <div className="flex h-[64dvh] min-h-[280px] gap-4">
        {!onlyFile && (
          <div className="flex min-h-0 w-full flex-col gap-2 md:w-72 md:shrink-0 lg:w-80">
            <Segmented label={t('changesScope')} value={scope} options={scopes} onChange={setScope} />
            <Input
              size="small"
              icon={Filter}
              type="search"
              aria-label={t('changesFilter')}
              placeholder={t('changesFilter')}
              value={text}
              onChange={event => setText(event.target.value)}
            />
            <div ref={setScroller} className="scroll min-h-0 flex-1">
              {found.error ? (
                <QueryError error={found.error} />
              ) : !found.data ? (
                <Skeleton label={t('loading')} rows={6} />
              ) : (
                <ChangeTree
                  files={files}
                  current={narrow ? path : (file?.path ?? null)}
                  focused={pane === 'back' ? path : null}
                  scroller={scroller}
                  onSelect={chosen => {
                    setPath(chosen.path)
                    setPane('file')
                  }}
                />
              )}
              {found.data && files.length === 0 && (
                <p role="status" className="p-2 text-[13px] text-fg-2">
                  {empty()}
                </p>
              )}
            </div>
            {found.data && <Commits commits={found.data.commits} />}
            {found.data && <Problems problems={found.data.problems} />}
            {all.data && <Works works={all.data.works} only={work} busy={running} onShowOnly={showOnly} />}
          </div>
        )}
        {(onlyFile || (!narrow && file)) && file && (
          <FileChange
            sessionId={sessionId}
            file={file}
            work={work}
            view={narrow ? { ...view, layout: 'inline' } : view}
            back={
              narrow && (
                <IconButton label={t('changesBack')} autoFocus onClick={() => setPane('back')}>
                  <ArrowLeft size={16} aria-hidden />
                </IconButton>
              )
            }
            views={<ViewChoice view={view} narrow={narrow} onChange={choose} />}
            onOpen={() => {
              closeDialog()
              openPath(file.path)
            }}
            onUndo={running ? null : () => void undoAll(sessionId, callsOf(file))}
          />
        )}
        {!narrow && !file && found.data && (
          <p className="m-auto text-[13px] text-fg-3">{t('changesSelect')}</p>
        )}
      </div>
    </Dialog>
  )
}
