import { CircleCheck, CircleDashed, ListTodo } from 'lucide-react'
import { useEffect, useRef } from 'react'
import type { TodoItem, TodoList } from '@/api/types'
import { Bar } from '@/components/ui/Bar'
import { Button } from '@/components/ui/Button'
import { Disclosure } from '@/components/ui/Disclosure'
import { Visible } from '@/components/Visible'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { announce } from '@/stores/announcer'
import { useFold } from '@/stores/folds'
import { hideList, useIsHidden } from './hiddenLists'

interface Props {
  list: TodoList
  /** Called when the button that had the focus is gone. */
  onLeave: () => void
}

/** The tasks that the model keeps, above the composer: one line, which expands to the list. */
export default function TodoPanel({ list, onLeave }: Props) {
  const t = useT()
  const [open, setOpen] = useFold(`todo:${list.id}`, false)
  const hidden = useIsHidden(list.id)
  const n = list.items.length
  const done = list.items.filter(item => item.completed !== null).length
  const next = list.items.find(item => item.completed === null)
  useProgressAnnounced(list.id, t('todoProgress', { done, n }))
  if (hidden && !next) return null
  return (
    <section
      aria-label={t('todoList')}
      className="mx-auto w-full max-w-[760px] px-4 pb-1.5 max-md:px-2"
      data-todo={list.id}
    >
      <div className="flex items-start gap-1">
        <Disclosure
          open={open}
          onToggle={setOpen}
          className="min-w-0 flex-1 rounded-lg border bg-card text-[13px]"
          summaryClass="rounded-lg px-3 py-1.5 hover:bg-hover"
          summary={
            <>
              <ListTodo size={14} aria-hidden className="shrink-0 text-accent" />
              <span className="min-w-0 flex-1 truncate">
                <Visible
                  text={next ? t('todoNext', { done, n, title: next.title }) : t('todoAllDone', { n })}
                />
              </span>
              <Bar
                className="w-20 shrink-0 max-md:w-12"
                parts={[{ share: n > 0 ? done / n : 0, className: 'bg-accent' }]}
              />
            </>
          }
        >
          <div className="scroll max-h-[30dvh] overflow-y-auto px-3 pb-2" tabIndex={0}>
            <p className="truncate py-0.5 text-fg-2 text-small">
              <Visible text={list.name} />
            </p>
            <ol className="space-y-0.5">
              {list.items.map(item => (
                <Task key={item.id} item={item} isNext={item === next} />
              ))}
            </ol>
          </div>
        </Disclosure>
        {!next && (
          <Button
            size="small"
            look="ghost"
            className="my-0.5"
            title={t('todoHideHint')}
            onClick={() => {
              hideList(list.id)
              onLeave()
            }}
          >
            {t('todoHide')}
          </Button>
        )}
      </div>
    </section>
  )
}

function Task({ item: { title, completed }, isNext }: { item: TodoItem; isNext: boolean }) {
  const t = useT()
  const Icon = completed === null ? CircleDashed : CircleCheck
  return (
    <li className="flex items-start gap-2" aria-current={isNext ? 'step' : undefined}>
      <Icon
        size={14}
        aria-hidden
        className={cn('mt-[3px] shrink-0', completed === null ? 'text-fg-3' : 'text-ok')}
      />
      <span className="sr-only">{t(completed === null ? 'todoOpen' : 'todoCompleted')}: </span>
      <span
        title={completed ?? undefined}
        className={cn(
          'min-w-0 [overflow-wrap:anywhere]',
          completed !== null && 'text-fg-2 line-through',
          isNext && 'font-medium',
        )}
      >
        <Visible text={title} />
      </span>
    </li>
  )
}

/** Announces progress while the list is on the screen, and not what it was when it appeared. */
function useProgressAnnounced(id: string, words: string): void {
  const said = useRef<{ id: string; words: string } | null>(null)
  useEffect(() => {
    if (said.current !== null && (said.current.id !== id || said.current.words !== words)) announce(words)
    said.current = { id, words }
  }, [id, words])
}
