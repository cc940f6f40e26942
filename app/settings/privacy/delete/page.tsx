import type { Metadata } from 'next'
import { getNow, getTranslations } from 'next-intl/server'
import { Words } from '#components/frame/words.tsx'
import { askedIn } from '#components/privacy/asked-rules.ts'
import { consequencesOf } from '#components/privacy/deletion-rules.ts'
import { DeletionSteps } from '#components/privacy/deletion-steps.tsx'
import { sayingOf } from '#components/requests/request-rules.ts'
import { Said, SaidMore } from '#components/requests/saying.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { Page } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import { readEnv } from '#lib/config/env.ts'
import type { RequestView } from '#lib/domains/privacy-requests/contract.ts'
import { ask, currentPerson, opened } from '../../../reader.ts'
import { identityOf } from '../identity.ts'
import { agentIn, askOwn, ownAgents } from '../whose.ts'
import { AskedPage, detailOf } from './asked.tsx'
import { Consequences } from './consequences.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('deletion'))('name'),
  // The URL may contain the id of a receipt, and anyone with that id may read the receipt.
  robots: { index: false, follow: false },
})

/** The open erasure request for the same subject. */
async function openErasure(agentId: string | undefined): Promise<RequestView | undefined> {
  const { data } = await ask(app.requests.list, { query: { open: 'true', limit: '100' } })
  return data.find(
    ({ kinds, agent_id, for_member }) =>
      kinds.includes('erasure') && !for_member && (agent_id ?? undefined) === agentId,
  )
}

async function OpenErasure({ request }: { request: RequestView }) {
  const [t, now, detail] = await Promise.all([getTranslations('deletion.open'), getNow(), detailOf(request.id)])
  const saying = sayingOf(detail ?? request, detail?.timeline ?? [], now)
  return (
    <Alert tone="info" title={t('title')}>
      {saying === 'received' ? (
        <p>{t('unconfirmed')}</p>
      ) : (
        <>
          <p>
            <Said saying={saying} request={request} />
          </p>
          <SaidMore saying={saying} request={request} />
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
  const asked = askedIn(query)
  if (asked) {
    const person = await currentPerson()
    // An immediate erasure has ended the session, and a waiting one may have. The page shows the status without a session.
    const isSignedOut = asked.isAtOnce || readEnv().KP_GRACE_SIGN_IN === 'stop'
    if (!person && !isSignedOut) await opened('deletion')
    return (
      <Words>
        <AskedPage asked={asked} detail={person && (await detailOf(asked.requestId))} />
      </Words>
    )
  }
  const person = await opened('deletion')
  const agentId = agentIn(query.agent)
  const [t, { data: plan }, exported, open, { agents }] = await Promise.all([
    getTranslations('deletion'),
    askOwn(app.requests.plan, { query: agentId === undefined ? {} : { agent_id: agentId } }),
    ask(app.exports.listExports),
    openErasure(agentId),
    ownAgents(),
  ])
  const agent =
    agentId === undefined ? undefined : (agents.find(({ id }) => id === agentId) ?? { id: agentId, name: agentId })
  const env = readEnv()
  const numbers = consequencesOf(plan.holdings)
  const isUnderWay = open !== undefined && open.state !== 'received'
  const back = `/settings/privacy${agent ? `?agent=${encodeURIComponent(agent.id)}` : ''}`
  return (
    <Words of={['deletion', 'exports', 'myPrivacy']}>
      <Page
        title={
          agent ? t('titleAgent', { agent: agent.name, total: numbers.gone }) : t('title', { total: numbers.gone })
        }
        lead={
          <>
            <p>{t('lead')}</p>
            <p>
              <TextLink href={back}>{t('back')}</TextLink>
            </p>
          </>
        }
      >
        {open && <OpenErasure request={open} />}
        {!isUnderWay && (
          <DeletionSteps
            what={<Consequences holdings={plan.holdings} numbers={numbers} agent={agent?.name} />}
            exported={exported}
            agent={agent}
            identity={identityOf(person)}
            isAdmin={person.role === 'admin'}
            tokens={env.KP_GRACE_TOKENS}
            signIn={env.KP_GRACE_SIGN_IN}
          />
        )}
      </Page>
    </Words>
  )
}
