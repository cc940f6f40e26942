import type { ReactNode } from 'react'
import { Button } from '#components/ui/button.tsx'

/** What an action does, with its control beside it. */
export const ActionText = ({ text, children }: { text: string; children: ReactNode }) => (
  <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 py-3">
    <p className="min-w-0 grow basis-64 text-quiet">{text}</p>
    {children}
  </li>
)

interface ActionLineProps {
  text: string
  action: string
  tone?: 'plain' | 'danger'
  isPending?: boolean
  onClick: () => void
}
/** The same with a button. */
export const ActionLine = ({ text, action, tone = 'plain', isPending, onClick }: ActionLineProps) => (
  <ActionText text={text}>
    <Button tone={tone} size="small" aria-disabled={isPending} onClick={onClick}>
      {action}
    </Button>
  </ActionText>
)
