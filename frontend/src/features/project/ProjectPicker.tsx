import { FolderCode } from 'lucide-react'
import { useProjects } from '@/api/projectQueries'
import { onDemand } from '@/components/onDemand'
import { Button } from '@/components/ui/Button'
import { Menu } from '@/components/ui/Menu'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { placeName } from './place'

const PlaceList = onDemand(() => import('./PlaceList'))

interface Props {
  projectId: string | null
  /** Null while a run is under way. */
  onChoose: ((projectId: string | null) => void) | null
}

/** Chooses where the tools of this conversation work from its next message on. */
export function ProjectPicker({ projectId, onChoose }: Props) {
  const t = useT()
  const place = placeName(projectId, t, useProjects().data)
  const trigger = (
    <Button
      size="small"
      look={projectId === null ? 'ghost' : 'soft'}
      className="my-0.5 min-w-0 max-w-full shrink! pointer-coarse:my-1"
      disabled={onChoose === null}
      aria-label={t('worksIn', { place })}
      title={t(onChoose ? 'worksIn' : 'worksInBusy', { place })}
    >
      <FolderCode size={14} aria-hidden className="shrink-0" />
      <span className={cn('truncate', projectId === null && 'max-md:hidden')}>{place}</span>
    </Button>
  )
  return (
    <Menu trigger={trigger} align="start" opens="listbox">
      <PlaceList manage projectId={projectId} onChoose={id => onChoose?.(id)} />
    </Menu>
  )
}
