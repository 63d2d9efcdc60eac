import { X } from 'lucide-react'
import { type KeyboardEvent, type MouseEvent, useEffect, useRef } from 'react'
import { useShallow } from 'zustand/react/shallow'
import { useProjects } from '@/api/projectQueries'
import { isGone } from '@/features/project/gone'
import { cn } from '@/lib/cn'
import { type Key, useT } from '@/lib/i18n'
import { type FileRef, isProject } from '@/lib/roots'
import { useBuffers } from '@/stores/buffers'
import { openFile, useUi } from '@/stores/ui'
import { closeTab, markOf, namesOf, type TabMark, useTabs } from './tabs'

/** The element that shows the file of the selected tab. */
export const PANEL = 'editor-panel'

const WORDS: Readonly<Record<NonNullable<TabMark>, Key>> = {
  edited: 'unsaved',
  conflict: 'conflict',
  gone: 'deletedOnDisk',
}

/** The tabs of the open files. The middle mouse button and the Delete key close one. */
export function EditorTabs() {
  const t = useT()
  const list = useRef<HTMLDivElement>(null)
  const tabs = useTabs(s => s.tabs)
  const shown = useUi(ui => ui.file)
  const marks = useBuffers(useShallow(() => tabs.map(markOf)))
  // Paths of projects have the projects' names once these are loaded.
  const projects = useProjects(tabs.some(({ root }) => isProject(root))).data
  const names = namesOf(tabs)
  const selected = shown ? tabs.indexOf(shown) : -1
  // biome-ignore lint/correctness/useExhaustiveDependencies: the selected tab comes into view when it changes
  useEffect(() => {
    list.current
      ?.querySelector('[aria-selected=true]')
      ?.scrollIntoView?.({ block: 'nearest', inline: 'nearest' })
  }, [selected, tabs])
  if (tabs.length === 0) return null

  const focus = (index: number) => list.current?.querySelectorAll<HTMLElement>('[role=tab]')[index]?.focus()
  const show = (index: number) => {
    const file = tabs[index]
    if (!file) return
    openFile(file)
    focus(index)
  }
  const onKeyDown = (event: KeyboardEvent, index: number) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const last = tabs.length - 1
    const target = {
      ArrowRight: index === last ? 0 : index + 1,
      ArrowLeft: index === 0 ? last : index - 1,
      Home: 0,
      End: last,
    }[event.key]
    const file = tabs[index]
    if (target !== undefined) show(target)
    else if (event.key === 'Delete' && file) {
      closeTab(file)
      requestAnimationFrame(() => focus(Math.min(index, last - 1)))
    } else return
    event.preventDefault()
  }
  const onClick = (event: MouseEvent, file: FileRef) => {
    const onCross = event.target instanceof Element && event.target.closest('[data-close]') !== null
    if (onCross) closeTab(file)
    else openFile(file)
  }
  return (
    <div
      ref={list}
      role="tablist"
      aria-label={t('openFiles')}
      className="flex shrink-0 overflow-x-auto border-t bg-hover [scrollbar-width:thin]"
    >
      {tabs.map((file, i) => {
        const mark = marks[i] ?? null
        const lost = isGone(file.root, projects)
        const words = lost ? t('projectLostMark') : mark && t(WORDS[mark])
        const isShown = i === selected
        return (
          <button
            key={`${file}`}
            type="button"
            role="tab"
            aria-selected={isShown}
            aria-controls={isShown ? PANEL : undefined}
            aria-keyshortcuts="Delete"
            aria-label={words ? `${names[i]} (${words})` : names[i]}
            title={file.shown}
            tabIndex={i === Math.max(0, selected) ? 0 : -1}
            onClick={event => onClick(event, file)}
            onKeyDown={event => onKeyDown(event, i)}
            onMouseDown={event => event.button === 1 && event.preventDefault()}
            onAuxClick={event => event.button === 1 && closeTab(file)}
            className={cn(
              'group flex h-8 max-w-48 shrink-0 items-center gap-1 border-r pr-1 pl-3 text-[12px] outline-offset-[-2px] pointer-coarse:h-11',
              isShown
                ? 'bg-card text-fg shadow-[inset_0_2px_0_var(--color-accent)]'
                : 'text-fg-2 hover:text-fg',
            )}
          >
            <span className={cn('min-w-0 truncate', (lost || mark === 'gone') && 'text-bad line-through')}>
              {names[i]}
            </span>
            <span
              aria-hidden
              data-close
              title={t('closeFile')}
              className="grid size-5 shrink-0 place-items-center rounded hover:bg-line pointer-coarse:size-11"
            >
              {mark === 'edited' || mark === 'conflict' ? (
                <span
                  className={cn(
                    'size-2 rounded-full group-hover:hidden',
                    mark === 'edited' ? 'bg-accent' : 'bg-warn',
                  )}
                />
              ) : null}
              <X
                size={13}
                className={cn(
                  mark === 'edited' || mark === 'conflict'
                    ? 'hidden group-hover:block'
                    : !isShown && 'opacity-0 group-hover:opacity-100 pointer-coarse:opacity-100',
                )}
              />
            </span>
          </button>
        )
      })}
    </div>
  )
}
