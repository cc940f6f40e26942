import type { Metadata } from 'next'
import { getNow, getTranslations } from 'next-intl/server'
import { callUseCase, currentPerson, requirePageAccess } from '#app/page-access.ts'
import { agentIn, callForOwnAgent, loadOwnAgents } from '#app/settings/privacy/own-agents.ts'
import { Messages } from '#components/frame/words.tsx'
import { consequencesOf } from '#components/privacy/deletion-rules.ts'
import { DeletionSteps } from '#components/privacy/deletion-steps.tsx'
import { filedDeletionIn } from '#components/privacy/filed-deletion-rules.ts'
import { privacyTabHref } from '#components/privacy/inventory-rules.ts'
import { requestSayingOf } from '#components/requests/request-rules.ts'
import { RequestStatusDetail, RequestStatusText } from '#components/requests/request-status.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Page } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import { readEnv } from '#lib/config/env.ts'
import type { RequestView } from '#lib/domains/privacy-requests/contract.ts'
import { identityOf } from '../identity.ts'
import { ConsequenceList } from './consequences.tsx'
import { detailOf, FiledDeletionPage } from './filed-deletion.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('deletion'))('name'),
  // The URL may contain the id of a receipt, and anyone with that id may read the receipt.
  robots: { index: false, follow: false },
})

/** The open erasure request for the same subject. */
async function openErasure(agentId: string | undefined): Promise<RequestView | undefined> {
  const { data } = await callUseCase(app.requests.list, { query: { open: 'true', limit: '100' } })
  return data.find(
    ({ kinds, agent_id, for_member }) =>
      kinds.includes('erasure') && !for_member && (agent_id ?? undefined) === agentId,
  )
}

async function OpenErasure({ request }: { request: RequestView }) {
  const [t, now, detail] = await Promise.all([getTranslations('deletion.open'), getNow(), detailOf(request.id)])
  const saying = requestSayingOf(detail ?? request, detail?.timeline ?? [], now)
  return (
    <Alert tone="info" title={t('title')}>
      {saying === 'received' ? (
        <p>{t('unconfirmed')}</p>
      ) : (
        <>
          <p>
            <RequestStatusText saying={saying} request={request} />
          </p>
          <RequestStatusDetail saying={saying} request={request} />
        </>
      )}
      <p>
        <TextLink href={`/settings/privacy/requests/${request.id}`}>{t('follow')}</TextLink>
      </p>
    </Alert>
  )
}

export default async function DeletionPage({
  searchParams,
}: {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}) {
  const query = await searchParams
  const asked = filedDeletionIn(query)
  if (asked) {
    const person = await currentPerson()
    // An immediate erasure has ended the session, and a waiting one may have. The page shows the status without a session.
    const isSignedOut = asked.isAtOnce || readEnv().KP_GRACE_SIGN_IN === 'stop'
    if (!person && !isSignedOut) await requirePageAccess('deletion')
    return (
      <Messages of={['deletion', 'dataNames', 'erasurePlaces']}>
        <FiledDeletionPage asked={asked} detail={person && (await detailOf(asked.requestId))} />
      </Messages>
    )
  }
  const person = await requirePageAccess('deletion')
  const agentId = agentIn(query.agent)
  const [t, pages, { data: plan }, exported, open, { agents }] = await Promise.all([
    getTranslations('deletion'),
    getTranslations('pages'),
    callForOwnAgent(app.requests.plan, { query: agentId === undefined ? {} : { agent_id: agentId } }),
    callUseCase(app.exports.listExports),
    openErasure(agentId),
    loadOwnAgents(),
  ])
  const agent =
    agentId === undefined ? undefined : (agents.find(({ id }) => id === agentId) ?? { id: agentId, name: agentId })
  const env = readEnv()
  const numbers = consequencesOf(plan.holdings)
  const isUnderWay = open !== undefined && open.state !== 'received'
  return (
    <Messages of={['deletion', 'exports', 'myPrivacy']}>
      <Page
        breadcrumbs={[{ href: privacyTabHref('data', agent?.id), title: pages('privacy') }]}
        title={agent ? t('nameAgent', { agent: agent.name }) : t('name')}
        summary={t('summary', { count: numbers.gone + numbers.changed + numbers.held })}
      >
        {open && <OpenErasure request={open} />}
        {!isUnderWay && (
          <DeletionSteps
            what={<ConsequenceList {...{ numbers, plan }} isOfAgent={agent !== undefined} />}
            numbers={numbers}
            exported={exported}
            agent={agent}
            identity={identityOf(person)}
            isAdmin={person.role === 'admin'}
            tokens={env.KP_GRACE_TOKENS}
            signIn={env.KP_GRACE_SIGN_IN}
          />
        )}
      </Page>
    </Messages>
  )
}
