'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Checkbox, Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { showToast } from '#components/ui/toast.ts'
import { isShorter, presets, type RetainedVisibility, retainedVisibilities } from '#lib/domains/retention/rules.ts'
import type { Periods } from '#lib/kernel/expiring.ts'
import { DryRunTable } from './dry-run-table.tsx'
import { type DryRun, dryRunAt, editRetentionAt } from './endpoints.ts'
import { usePeriodWords } from './period-words.ts'
import {
  daysOf,
  isLonger,
  isSame,
  periodChangeOf,
  periodsIn,
  type TypedPeriods,
  typedPeriodsOf,
} from './typed-periods.ts'

/** The effects of changed periods, before they are saved. Shorter ones are in force a day later. */
export function DryRunConsequences({ run, inForce }: { run: DryRun; inForce: Periods }) {
  const t = useTranslations('retention.edit')
  const { total, held: _, ...by } = run.would_delete
  const waits = retainedVisibilities.some((visibility) => isShorter(inForce[visibility], run.policy[visibility]))
  return (
    <>
      <p className="font-medium text-ink">{t(waits ? 'later' : 'consequence', { count: total })}</p>
      {waits && <p>{t('waits')}</p>}
      {total > 0 && <p>{t('by', by)}</p>}
      <p>{t(total > 0 ? 'noReturn' : 'nothingGoes')}</p>
    </>
  )
}

/** Sets retention periods. Saving requires a dry run of exactly these periods. */
export function PeriodForm({ inForce }: { inForce: Periods }) {
  const t = useTranslations('retention')
  const words = usePeriodWords()
  const { draft, change, clear } = useDraft<{ typed: TypedPeriods | null }>('retention', { typed: null })
  const [run, setRun] = useState<DryRun>()
  /** The previewed periods that the dialog asks to confirm; a cleared draft leaves the dialog open. */
  const [asked, setAsked] = useState<DryRun>()
  const dryRun = useApiMutation(dryRunAt, { isQuiet: true })
  const edit = useApiMutation(editRetentionAt, { touches: ['/v1/retention'] })
  const typed = draft.typed ?? typedPeriodsOf(inForce)
  const wanted = periodsIn(typed)
  const isAsBefore = wanted !== undefined && isSame(wanted, inForce)
  // A dry run of other periods does not apply.
  const counted = run && wanted && isSame(run.policy, wanted) ? run : undefined
  const type = (next: TypedPeriods) => change({ typed: next })
  const typeOne = (visibility: RetainedVisibility, changes: Partial<TypedPeriods[RetainedVisibility]>) =>
    type({ ...typed, [visibility]: { ...typed[visibility], ...changes } })
  const count = (event: FormEvent) => {
    event.preventDefault()
    if (wanted)
      dryRun.begin(
        { body: { network_days: wanted.network, org_days: wanted.org, private_days: wanted.private } },
        ({ data }) => setRun(data),
      )
  }
  return (
    <form onSubmit={count} className="grid gap-5">
      <fieldset className="grid gap-2">
        <legend className="mb-2 font-medium">{t('edit.preset')}</legend>
        <div className="flex flex-wrap gap-2">
          <Button tone="plain" size="small" onClick={() => type(typedPeriodsOf(presets.default))}>
            {t('edit.default')}
          </Button>
          <Button tone="plain" size="small" onClick={() => type(typedPeriodsOf(presets.strict))}>
            {t('edit.strict')}
          </Button>
          <Button tone="plain" size="small" onClick={clear}>
            {t('edit.present')}
          </Button>
        </div>
        <p className="text-sm text-quiet">{t('edit.presets')}</p>
      </fieldset>
      <div className="grid gap-5 sm:grid-cols-3">
        {retainedVisibilities.map((visibility) => {
          const { isForEver, days } = typed[visibility]
          const now = inForce[visibility]
          const isLoosened = wanted !== undefined && isLonger(wanted[visibility], now)
          return (
            <div key={visibility} className="grid content-start gap-2">
              <Field
                label={t('edit.days', { visibility: t(`visibility.${visibility}`) })}
                name={`${visibility}_days`}
                inputMode="numeric"
                autoComplete="off"
                maxLength={6}
                disabled={isForEver}
                value={isForEver ? '' : days}
                error={daysOf(typed[visibility]) === undefined ? t('edit.wrong') : undefined}
                onChange={({ target }) => typeOne(visibility, { days: target.value })}
              />
              <Checkbox
                label={t('edit.forEverBox')}
                name={`${visibility}_for_ever`}
                checked={isForEver}
                onChange={({ target }) => typeOne(visibility, { isForEver: target.checked })}
              />
              {isLoosened && (
                <p role="status" className="text-sm text-amber">
                  {t('edit.longer', { period: words(now) })}
                </p>
              )}
            </div>
          )
        })}
      </div>
      {dryRun.problem && <ProblemAlert problem={dryRun.problem} />}
      {counted && <DryRunTable run={counted} />}
      <div className="flex flex-wrap items-center gap-3">
        <Button
          type="submit"
          tone={counted && !isAsBefore ? 'plain' : 'main'}
          aria-disabled={!wanted || dryRun.isPending}
        >
          {dryRun.isPending ? t('edit.trying') : t('edit.try')}
        </Button>
        {counted && !isAsBefore && <Button onClick={() => setAsked(counted)}>{t('edit.save')}</Button>}
      </div>
      {asked && (
        <Confirm
          open
          onOpenChange={(open) => !open && setAsked(undefined)}
          title={t('edit.confirmTitle')}
          consequences={<DryRunConsequences run={asked} inForce={inForce} />}
          action={t('edit.save')}
          needsApproval
          tone={asked.would_delete.total > 0 ? 'danger' : 'main'}
          change={edit}
          onConfirm={() =>
            edit.begin(
              { body: periodChangeOf(inForce, asked.policy) },
              () => {
                clear()
                setAsked(undefined)
                setRun(undefined)
                showToast({ title: t('edit.saved') })
              },
              clear,
            )
          }
        />
      )}
    </form>
  )
}
