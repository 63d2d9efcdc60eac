import { Visible } from '@/components/Visible'

/** All of a text, with what is invisible in it. */
export function Json({ label, text }: { label: string; text: string }) {
  return (
    <div
      role="group"
      tabIndex={0}
      aria-label={label}
      className="scroll max-h-64 overflow-auto whitespace-pre-wrap rounded-md border bg-code p-2 font-mono text-[12px] [overflow-wrap:anywhere]"
    >
      <Visible text={text} />
    </div>
  )
}
