'use client'

import { ChevronDown } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Button } from '#components/ui/button.tsx'
import { Menu } from '#components/ui/menu.tsx'
import type { QueueAct } from './acts.ts'

/** The same keys as in the queue for actions that exist there. */
export const actKeys: Record<QueueAct, string> = {
  answer: 'w',
  verify: 'v',
  complete: 'h',
  retry: 't',
  resume: 'u',
  expedite: 'e',
  pause: 'p',
  extend: 'd',
  refuse: 'r',
  assign: 'a',
  comment: 'c',
}
const dangers: readonly QueueAct[] = ['expedite', 'refuse']
/** The actions that a request waits for; others are in the menu. */
const leading: readonly QueueAct[] = ['answer', 'verify', 'complete', 'retry', 'resume']

/** The action that the request waits for, and a menu with all others. */
export function RequestActions({ acts, onAct }: { acts: readonly QueueAct[]; onAct: (act: QueueAct) => void }) {
  const t = useTranslations('adminRequest')
  const queue = useTranslations('queue.acts')
  const first = acts.find((act) => leading.includes(act))
  const others = acts.filter((act) => act !== first)
  return (
    <>
      {others.length > 0 && (
        <Menu
          trigger={
            <Button tone="plain">
              {t('actsTitle')}
              <ChevronDown aria-hidden className="size-4" />
            </Button>
          }
          items={others.map((act) => ({
            key: act,
            onSelect: () => onAct(act),
            ...(dangers.includes(act) && { tone: 'danger' as const }),
            label: (
              <span className="flex grow items-baseline justify-between gap-6">
                {queue(act)}
                <kbd aria-hidden className="font-mono text-sm text-quiet max-sm:hidden">
                  {actKeys[act]}
                </kbd>
              </span>
            ),
          }))}
        />
      )}
      {first && (
        <Button aria-keyshortcuts={actKeys[first]} onClick={() => onAct(first)}>
          {queue(first)}
        </Button>
      )}
    </>
  )
}
