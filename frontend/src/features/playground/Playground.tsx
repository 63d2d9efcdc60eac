import { useShallow } from 'zustand/react/shallow'
import '@/lib/later'
import { X } from 'lucide-react'
import { Tabs } from 'radix-ui'
import { useLocation } from 'wouter'
import { useIndex } from '@/api/queries'
import type { SearchFolder } from '@/api/retrieval'
import { PaneHeader } from '@/components/PaneHeader'
import { IconButton } from '@/components/ui/Button'
import { Segmented } from '@/components/ui/Segmented'
import { useT } from '@/lib/i18n'
import type { Width } from '@/lib/useMedia'
import { useUi } from '@/stores/ui'
import { IndexNote } from './IndexNote'
import { SearchTab } from './SearchTab'
import { TestsTab } from './TestsTab'
import { useTrial } from './useTrial'

const TABS = [
  ['search', 'tabSearch'],
  ['tests', 'tabTests'],
] as const
const CONTENT = 'flex min-h-0 flex-1 flex-col outline-offset-[-2px] data-[state=inactive]:hidden'

interface Props {
  width: Width
  onLeft: () => void
  onRight: () => void
}

/** Where one tries what is found, and why. */
export default function Playground({ width, onLeft, onRight }: Props) {
  const t = useT()
  const ui = useUi(useShallow(({ left, right, chunks, ...rest }) => rest))
  const [, navigate] = useLocation()
  const [trial, change] = useTrial()
  const index = useIndex().data
  const status = index?.folders.find(folder => folder.folder === trial.folder)
  const folders = (['knowledge', 'memory'] as const).map(value => ({ value, words: t(value) }))
  return (
    <section
      id="pane-play"
      aria-labelledby="play-title"
      tabIndex={-1}
      className="pane flex h-full min-h-0 min-w-0 flex-col overflow-hidden rounded-xl outline-none max-md:rounded-none max-md:border-0"
    >
      <PaneHeader
        id="play-title"
        title={t('playground')}
        leftOpen={width !== 'narrow' && ui.leftOpen}
        rightOpen={width === 'wide' ? ui.rightOpen : width === 'medium' && ui.sheetOpen}
        onLeft={onLeft}
        onRight={onRight}
      />
      <Tabs.Root
        value={trial.tab}
        onValueChange={tab => change({ tab: tab as 'search' | 'tests' })}
        className="flex min-h-0 flex-1 flex-col"
      >
        <div className="flex flex-wrap items-center gap-2 border-b px-3 py-2">
          <Tabs.List aria-label={t('playground')} className="flex rounded-lg bg-hover p-0.5">
            {TABS.map(([tab, label]) => (
              <Tabs.Trigger
                key={tab}
                value={tab}
                className="h-7 rounded-md px-2.5 text-fg-2 text-small hover:text-fg data-[state=active]:bg-card data-[state=active]:font-medium data-[state=active]:text-fg data-[state=active]:shadow-sm dark:data-[state=active]:bg-white/15 pointer-coarse:h-10"
              >
                {t(label)}
              </Tabs.Trigger>
            ))}
          </Tabs.List>
          <Segmented<SearchFolder>
            label={t('searchIn')}
            value={trial.folder}
            options={folders}
            onChange={folder => change({ folder })}
          />
          <IconButton label={t('backToChat')} className="ms-auto" onClick={() => navigate(ui.lastChat)}>
            <X size={16} aria-hidden />
          </IconButton>
        </div>
        {index && <IndexNote status={status ?? null} model={index.model} />}
        <Tabs.Content value="search" className={CONTENT}>
          <SearchTab trial={trial} onChange={change} files={status?.files ?? null} />
        </Tabs.Content>
        <Tabs.Content value="tests" className={CONTENT}>
          <TestsTab key={trial.folder} folder={trial.folder} k={trial.k} />
        </Tabs.Content>
      </Tabs.Root>
    </section>
  )
}
