'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Time } from '#components/ui/time.tsx'
import { agentPaths, type PerformanceCard, withdrawCardAt } from './agents.ts'

/** The performance card, the only public data of an agent, and the button to withdraw it. */
export function CardPanel({ card, mayWithdraw }: { card: PerformanceCard; mayWithdraw: boolean }) {
  const t = useTranslations('agents.one.card')
  const format = useFormatter()
  const [isOpen, setOpen] = useState(false)
  const change = useApiMutation(withdrawCardAt, { touches: agentPaths })
  const share = (value: number) => format.number(value, { style: 'percent', maximumFractionDigits: 2 })
  return (
    <div className="grid justify-items-start gap-4">
      <FactList
        facts={[
          [
            t('span'),
            <span key="span">
              <Time at={card.from} isDay /> – <Time at={card.until} isDay />
            </span>,
          ],
          [t('returns'), share(card.returns)],
          [t('sharpe'), format.number(card.sharpe, { maximumFractionDigits: 2 })],
          [t('drawdown'), share(card.drawdown)],
          [t('published'), <Time key="published" at={card.published_at} />],
        ]}
      />
      {mayWithdraw && (
        <Button tone="plain" onClick={() => setOpen(true)}>
          {t('open')}
        </Button>
      )}
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('ask')}
        consequences={<p>{t('consequences')}</p>}
        action={t('do')}
        change={change}
        onConfirm={() => change.begin({ params: { id: card.agent_id } }, () => setOpen(false))}
      />
    </div>
  )
}
