import { FolderCog } from 'lucide-react'
import { useContext } from 'react'
import { useCommand } from '@/app/useCommand'
import { Button } from '@/components/ui/Button'
import { ChooseContext } from '@/components/ui/ListPanel'

/** Below a list of projects: closes the list, and opens the dialog that manages them. */
export function ManageProjects() {
  const choose = useContext(ChooseContext)
  const { label, run } = useCommand('manageProjects')
  return (
    <div className="mt-1 border-t pt-1">
      <Button look="ghost" className="w-full justify-start px-2!" onClick={() => choose(run)}>
        <FolderCog size={14} aria-hidden className="shrink-0" />
        {label}
      </Button>
    </div>
  )
}
