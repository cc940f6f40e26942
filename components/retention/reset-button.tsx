'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import type { Periods } from '#lib/kernel/expiring.ts'
import { type DryRun, dryRunAt, resetAt } from './endpoints.ts'
import { DryRunConsequences } from './period-form.tsx'
import { usePeriodWords } from './period-words.ts'

/** Restores the periods from the environment, after a dry run. */
export function ResetButton({ environment, inForce }: { environment: Periods; inForce: Periods }) {
  const t = useTranslations('retention')
  const words = usePeriodWords()
  const [run, setRun] = useState<DryRun>()
  const dryRun = useApiMutation(dryRunAt, { isQuiet: true })
  const reset = useApiMutation(resetAt, { touches: ['/v1/retention'] })
  const { network, org, private: own } = environment
  const open = () => {
    dryRun.begin({ body: { network_days: network, org_days: org, private_days: own } }, ({ data }) => setRun(data))
  }
  return (
    <>
      <Button tone="plain" size="small" onClick={open} aria-disabled={dryRun.isPending}>
        {t('reset.open')}
      </Button>
      {dryRun.problem && <ProblemAlert problem={dryRun.problem} />}
      {run && (
        <Confirm
          open
          onOpenChange={() => setRun(undefined)}
          title={t('reset.title')}
          consequences={
            <>
              <p>{t('reset.text', { network: words(network), org: words(org), private: words(own) })}</p>
              <DryRunConsequences run={run} inForce={inForce} />
            </>
          }
          action={t('reset.action')}
          needsApproval
          tone={run.would_delete.total > 0 ? 'danger' : 'main'}
          change={reset}
          onConfirm={() => reset.begin({}, () => setRun(undefined))}
        />
      )}
    </>
  )
}
