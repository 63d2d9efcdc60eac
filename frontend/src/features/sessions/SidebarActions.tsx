import { Ellipsis, FileUp, ListChecks, MessageSquarePlus, Search, Trash2 } from 'lucide-react'
import { useRef } from 'react'
import { useCommandContext } from '@/app/commandContext'
import { useKeys } from '@/app/hint'
import { CommandButton } from '@/components/CommandButton'
import { CommandMenuItem } from '@/components/CommandMenuItem'
import { IconButton } from '@/components/ui/Button'
import { Kbd } from '@/components/ui/Kbd'
import { Menu, MenuItem } from '@/components/ui/Menu'
import { useT } from '@/lib/i18n'
import { importFile } from './transfer'

/** The buttons above the session list. `onChoose` starts the selection of several sessions. */
export function SidebarActions({ onChoose }: { onChoose: () => void }) {
  const t = useT()
  const { navigate } = useCommandContext()
  const keys = useKeys('palette')
  const file = useRef<HTMLInputElement>(null)
  const onImport = async (input: HTMLInputElement) => {
    const chosen = input.files?.[0]
    // Allows choosing the same file again.
    input.value = ''
    const id = chosen && (await importFile(chosen))
    if (id) navigate(`/s/${id}`)
  }
  return (
    <div className="flex gap-2 px-3">
      <CommandButton command="newChat" className="min-w-0 flex-1 shrink! justify-start">
        <MessageSquarePlus size={15} aria-hidden className="@max-[230px]:hidden shrink-0" />
        {t('newChat')}
      </CommandButton>
      <CommandButton command="palette" className="pointer-coarse:min-w-11">
        <Search size={14} aria-hidden className="text-fg-3" />
        <span className="sr-only">{t('search')}</span>
        {keys.length > 0 && (
          <span className="@max-[255px]:hidden pointer-coarse:hidden">
            <Kbd>{keys.join(' ')}</Kbd>
          </span>
        )}
      </CommandButton>
      <Menu
        trigger={
          <IconButton label={t('sessionsMenu')} look="soft">
            <Ellipsis size={15} aria-hidden />
          </IconButton>
        }
      >
        <MenuItem icon={<FileUp size={14} aria-hidden />} onSelect={() => file.current?.click()}>
          {t('importSession')}
        </MenuItem>
        <MenuItem icon={<ListChecks size={14} aria-hidden />} onSelect={onChoose}>
          {t('chooseSeveral')}
        </MenuItem>
        <CommandMenuItem command="recovery" icon={<Trash2 size={14} aria-hidden />} />
      </Menu>
      <input
        ref={file}
        type="file"
        accept=".json,application/json"
        hidden
        onChange={event => void onImport(event.target)}
      />
    </div>
  )
}
