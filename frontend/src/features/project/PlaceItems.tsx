import { FolderCode, House } from 'lucide-react'
import { MenuItem } from '@/components/ui/Menu'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { PLACES, placeName } from './place'

interface Props {
  projectId: string | null
  onChoose: (projectId: string | null) => void
}

/** The places to choose from, each with what the tools have there. */
export default function PlaceItems({ projectId, onChoose }: Props) {
  const t = useT()
  return PLACES.map(place => {
    const Icon = place === null ? House : FolderCode
    return (
      <MenuItem
        key={place ?? ''}
        icon={<Icon size={14} aria-hidden className="shrink-0" />}
        checked={place === projectId}
        onSelect={() => onChoose(place)}
      >
        <span>
          {placeName(place, t)}
          <span className="block font-normal text-fg-3 text-meta">
            {t(place === null ? 'placeHomeHint' : 'placeScratchHint')}
          </span>
        </span>
      </MenuItem>
    )
  })
}
