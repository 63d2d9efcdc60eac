import { memo } from 'react'
import { CopyButton } from '@/components/ui/CopyButton'
import { useT } from '@/lib/i18n'

/** What a person typed is shown as typed: their line breaks and characters, no Markdown. */
export const UserBubble = memo(function UserBubble({ content }: { content: string }) {
  const t = useT()
  return (
    <div className="flex items-end justify-end gap-1">
      <div className="order-2 w-fit max-w-[85%] whitespace-pre-wrap rounded-[18px] rounded-ee-md bg-user px-3.5 py-2 text-user-fg [overflow-wrap:anywhere]">
        {content}
      </div>
      <div className="opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100">
        <CopyButton label={t('copyMessage')} text={() => content} />
      </div>
    </div>
  )
})
