import type { PageProps } from '@/app/pages'
import { Pane } from '@/components/ui/Pane'
import '@/lib/later'
import { X } from 'lucide-react'
import { useLocation } from 'wouter'
import { useIndex } from '@/api/queries'
import { PaneHeader } from '@/components/PaneHeader'
import { IconButton } from '@/components/ui/Button'
import { Segmented } from '@/components/ui/Segmented'
import { TabList, TabPanel, Tabs } from '@/components/ui/Tabs'
import { useT } from '@/lib/i18n'
import { SEARCH_FOLDERS, type SearchFolder } from '@/lib/roots'
import { useUi } from '@/stores/ui'
import { IndexNote } from './IndexNote'
import { SearchTab } from './SearchTab'
import { TestsTab } from './TestsTab'
import { useTrial } from './useTrial'

const TABS = [
  ['search', 'tabSearch'],
  ['tests', 'tabTests'],
] as const

type Props = Pick<PageProps, 'width'>

/** The page for trying out what a search finds, and why. */
export default function Playground({ width }: Props) {
  const t = useT()
  const [, navigate] = useLocation()
  const [trial, change] = useTrial()
  const index = useIndex().data
  const status = index?.folders.find(folder => folder.folder === trial.folder)
  const folders = SEARCH_FOLDERS.map(value => ({ value, words: t(value) }))
  return (
    <Pane id="pane-play" aria-labelledby="play-title">
      <PaneHeader id="play-title" title={t('playground')} width={width} />
      <Tabs value={trial.tab} onChange={tab => change({ tab })} className="flex min-h-0 flex-1 flex-col">
        <div className="flex flex-wrap items-center gap-2 border-b px-3 py-2">
          <TabList
            label={t('playground')}
            tabs={TABS.map(([value, label]) => ({ value, words: t(label) }))}
          />
          <Segmented<SearchFolder>
            label={t('searchIn')}
            value={trial.folder}
            options={folders}
            onChange={folder => change({ folder })}
          />
          <IconButton
            label={t('backToChat')}
            className="ms-auto"
            onClick={() => navigate(useUi.getState().lastChat)}
          >
            <X size={16} aria-hidden />
          </IconButton>
        </div>
        {index && <IndexNote status={status ?? null} model={index.model} />}
        <TabPanel of="search" className="flex-1">
          <SearchTab trial={trial} onChange={change} files={status?.files ?? null} />
        </TabPanel>
        <TabPanel of="tests" className="flex-1">
          <TestsTab key={trial.folder} folder={trial.folder} k={trial.k} />
        </TabPanel>
      </Tabs>
    </Pane>
  )
}
