'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { type OwnAgentWhole, restrictAt } from './agents.ts'
import { agentTitle } from './names.ts'

const touches = ['/api/agents', '/api/knowledge', '/api/privacy']

/** Restricts one agent (GDPR art. 18) or lifts that restriction. Restrictions for other reasons stay. */
export function PausePanel({ agent }: { agent: OwnAgentWhole }) {
  const t = useTranslations('agents.one')
  const reasons = useTranslations('agents.reasons')
  const { list } = usePunctuation()
  const [isOpen, setOpen] = useState(false)
  const change = useApiMutation(restrictAt, { touches })
  const isOwnPause = agent.restricted_for.includes('request')
  const others = agent.restricted_for.filter((reason) => reason !== 'request').map((reason) => reasons(reason))
  const name = agentTitle(agent)

  if (isOwnPause && agent.is_paused_with_all)
    return (
      <div className="grid justify-items-start gap-3">
        <p>{t('pausedWithAll')}</p>
        <ButtonLink href="/settings/privacy" tone="plain">
          {t('toPrivacy')}
        </ButtonLink>
      </div>
    )
  return (
    <div className="grid justify-items-start gap-3">
      {others.length > 0 && <p>{t(isOwnPause ? 'resumeStays' : 'pausedByOther', { reasons: list(others) })}</p>}
      <Button tone="plain" onClick={() => setOpen(true)}>
        {isOwnPause ? t('resumeDo') : t('pauseDo')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        tone="main"
        title={t(isOwnPause ? 'resumeAsk' : 'pauseAsk', { name })}
        consequences={
          <>
            <p>{t(isOwnPause ? 'resumeText' : 'pauseText')}</p>
            {isOwnPause && others.length > 0 && <p>{t('resumeStays', { reasons: list(others) })}</p>}
          </>
        }
        action={t(isOwnPause ? 'resumeDo' : 'pause').replace(/\s?…$/, '')}
        change={change}
        onConfirm={() =>
          change.begin({ body: { restricted: !isOwnPause, agent_id: agent.agent_id } }, () => setOpen(false))
        }
      />
    </div>
  )
}
