import { Languages } from 'lucide-react'
import { useCommand } from '@/app/useCommand'
import { CommandIconButton } from '@/components/CommandButton'
import { onDemand } from '@/components/onDemand'
import { cn } from '@/lib/cn'
import { ThemeMenu } from './ThemeMenu'

const AccountMenu = onDemand(() => import('@/features/auth/AccountMenu'))

/** The name of the page, its language, its theme, and the account of the person on a server for several. */
export function SidebarHeader() {
  const account = useCommand('account').enabled
  return (
    <div className="flex items-center gap-2 p-3 pb-2">
      <span
        aria-hidden
        className="grid size-7 place-items-center rounded-[8px] bg-accent font-semibold text-accent-fg"
      >
        m
      </span>
      <strong className={cn('font-semibold text-[15px]', account && '@max-[230px]:hidden')}>miniclaw</strong>
      <span className="ms-auto flex">
        <CommandIconButton command="language">
          <Languages size={16} aria-hidden />
        </CommandIconButton>
        <ThemeMenu />
        {account && <AccountMenu />}
      </span>
    </div>
  )
}
