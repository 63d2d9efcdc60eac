import { Languages } from 'lucide-react'
import { CommandIconButton } from '@/components/CommandButton'
import { ThemeMenu } from './ThemeMenu'

/** The name of the page, its language and its theme. */
export function SidebarHeader() {
  return (
    <div className="flex items-center gap-2 p-3 pb-2">
      <span
        aria-hidden
        className="grid size-7 place-items-center rounded-[8px] bg-accent font-semibold text-accent-fg"
      >
        m
      </span>
      <strong className="font-semibold text-[15px]">miniclaw</strong>
      <span className="ms-auto flex">
        <CommandIconButton command="language">
          <Languages size={16} aria-hidden />
        </CommandIconButton>
        <ThemeMenu />
      </span>
    </div>
  )
}
