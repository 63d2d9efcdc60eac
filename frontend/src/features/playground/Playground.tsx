import { X } from 'lucide-react'
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
import { useTrial } from './useTrial'

interface Props {
  width: Width
  onLeft: () => void
  onRight: () => void
}

/** Where one tries what is found, and why. */
export default function Playground({ width, onLeft, onRight }: Props) {
  const t = useT()
  const ui = useUi()
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
      <div className="flex flex-wrap items-center gap-2 border-b px-3 py-2">
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
      {index && <IndexNote status={status ?? null} model={index.model ?? null} />}
      <SearchTab trial={trial} onChange={change} files={status?.files ?? null} />
    </section>
  )
}
