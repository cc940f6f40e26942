'use client'

import { useTranslations } from 'next-intl'
import { useRef, useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { type Requirement, remindAt, requirementAt } from './requirement-endpoints.ts'
import { ChangeRequirementButton } from './requirement-form.tsx'

function RemindButton({ without }: { without: number }) {
  const t = useTranslations('security.factors')
  const [isOpen, setOpen] = useState(false)
  const [sent, setSent] = useState<number>()
  const reminding = useApiMutation(remindAt, { touches: [requirementAt.path] })
  return (
    <>
      <Button tone="plain" onClick={() => setOpen(true)}>
        {t('remind')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('remind')}
        consequences={<p>{t('remindText', { count: without })}</p>}
        action={t('remindAction')}
        tone="main"
        change={reminding}
        onConfirm={() =>
          reminding.begin({}, ({ data }) => {
            setSent(data.reminded)
            setOpen(false)
          })
        }
      />
      {sent !== undefined && (
        <div className="basis-full">
          <Alert tone="done" title={t('reminded', { count: sent })} isLive />
        </div>
      )}
    </>
  )
}

/** Who must have a second factor, who has none, and the actions of an admin. */
export function RequirementPanel({ initial }: { initial: Requirement }) {
  const t = useTranslations('security.factors')
  const query = useApiQuery(requirementAt, {}, { initial: { data: initial } })
  const requirement = query.data?.data ?? initial
  const { required_of: who, from, accounts, without, by_provider: byProvider } = requirement
  const heading = useRef<HTMLDivElement>(null)
  return (
    <div ref={heading} tabIndex={-1} className="grid gap-4 outline-none">
      {query.problem && <ProblemAlert problem={query.problem} />}
      <FactList
        facts={[
          [t('who'), t(`requirements.${who}`)],
          ...(from === null
            ? []
            : [
                [t('from'), <Time key="from" at={from} show="both" />] as const,
                [
                  t('without'),
                  without === 0 ? (
                    t('withoutNone', { total: accounts })
                  ) : (
                    <TextLink
                      key="without"
                      href={`/admin/users?second_factor=missing${who === 'admins' ? '&role=admin' : ''}`}
                    >
                      {t('withoutCount', { count: without, total: accounts })}
                    </TextLink>
                  ),
                ] as const,
                ...(byProvider === 0 ? [] : [[t('byProvider'), t('byProviderCount', { count: byProvider })] as const]),
              ]),
        ]}
      />
      <div className="flex flex-wrap gap-2">
        <ChangeRequirementButton requirement={requirement} done={() => heading.current?.focus()} />
        {without > 0 && <RemindButton without={without} />}
      </div>
    </div>
  )
}
