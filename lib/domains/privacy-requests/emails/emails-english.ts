import type { RefusalGround, RequestKind } from '#lib/domains/privacy-requests/rules.ts'
import { emailTime as time } from '#lib/stores/mail/email-content.ts'
import { dateOf, type EmailFacts, type EmailWords, groundOf } from './email-facts.ts'

const kindNames: Record<RequestKind, string> = {
  access: 'access',
  portability: 'portability',
  rectification: 'rectification',
  restriction: 'restriction',
  objection: 'objection',
  erasure: 'erasure',
}
const grounds: Record<RefusalGround, string> = {
  unfounded: 'it is manifestly unfounded',
  excessive: 'it is excessive',
  identity: 'we could not be sure who asked',
  legal_obligation: 'the law obliges us to keep the data',
  other: 'for the reason below',
}
const cancelling = ({ links, isAgent }: EmailFacts): string[] =>
  links.cancel === undefined
    ? []
    : [
        `To keep ${isAgent ? 'the agent and its data' : 'your data'}, open this page and press the button. It works until the erasure begins.`,
        links.cancel,
      ]
const remedies =
  'You have the right to lodge a complaint with your data protection authority, and to a judicial remedy (GDPR art. 12(4), 77, 79).'

/** Names the agent of an agent's request if its id is still stored. */
const agentOf = ({ agentId }: EmailFacts): string => (agentId === null ? 'the agent' : `the agent ${agentId}`)
const others = ({ redacts }: Pick<EmailFacts, 'redacts'>): string[] =>
  redacts
    ? [
        'Your name and e-mail address are then taken out of what others wrote in the knowledge graphs of your projects, too.',
      ]
    : []
const questions = ({ privacyEmail }: EmailFacts): string[] =>
  privacyEmail === null ? [] : [`Questions about it are answered at ${privacyEmail}.`]
const stayNames: Partial<Record<RequestKind, string>> = {
  rectification: 'what was corrected',
  restriction: 'the restriction, until you lift it',
  objection: 'the restriction that your objection brought',
}
const lifted =
  'The restriction that came with the objection is lifted: agents write again, unless it was asked for too.'

/** Texts by event; other events are not emailed. */
export const english: Record<string, EmailWords> = {
  received: {
    subject: 'We received your privacy request',
    text: (_, facts) => [
      `We received a request for ${facts.kinds.map((kind) => kindNames[kind]).join(', ')}. The law gives us until ${time(facts.legalDueAt)}; we aim at 72 hours once it is settled who asks.`,
      ...questions(facts),
    ],
  },
  link_sent: {
    subject: 'Confirm your privacy request',
    text: (_, { links, kinds, isAgent, agentId, ifConfirmed, ...facts }) =>
      links.verify !== undefined
        ? [
            `You confirm a request for ${kinds.map((kind) => kindNames[kind]).join(', ')}${isAgent && agentId !== null ? `, about the agent ${agentId}` : ''}.`,
            ...(ifConfirmed === null
              ? []
              : [
                  ifConfirmed.isAtOnce
                    ? 'The erasure begins as soon as you confirm it, and cannot be taken back.'
                    : `If you confirm it now, the erasure begins at ${time(ifConfirmed.at)}; until then you can cancel it.`,
                ]),
            ...others(facts),
            'To confirm that it was you who asked, open this page and press the button. It works once, for ten minutes.',
            links.verify,
            'If it was not you, do nothing: without the confirmation nothing happens.',
          ]
        : [],
  },
  verified: { subject: 'Your privacy request is confirmed', text: () => ['It is settled that it was you who asked.'] },
  waiting: {
    subject: ({ isAgent }) => (isAgent ? 'The data of one of your agents will be erased' : 'Your data will be erased'),
    text: (entry, facts) => [
      `The erasure ${facts.isAgent ? `of ${agentOf(facts)}, and of all that is its, ` : ''}begins at ${time(facts.waitingUntil ?? dateOf(entry.details.until))}.${entry.details.shortened === true ? ' That is earlier than you chose, because the law’s limit comes before.' : ''} ${
        facts.tokensStop
          ? `Until then no token of ${facts.isAgent ? 'this agent' : 'the agents'} works`
          : `Until then the tokens of ${facts.isAgent ? 'this agent' : 'the agents'} go on working`
      }${facts.isAgent ? '' : facts.signInStays ? ', and you can still sign in' : ', and your sessions have ended'}.`,
      ...(facts.waitsForCopy
        ? [
            'It also waits for the copy that you asked for: until you have fetched it, or it is gone, four hours after it is ready.',
          ]
        : []),
      ...others(facts),
      ...(entry.details.by === 'token'
        ? ['A token of the agent asked for it. If you did not mean that, take it back and revoke the token.']
        : []),
      ...cancelling(facts),
    ],
  },
  reminded: {
    subject: ({ isAgent }) =>
      isAgent ? 'Tomorrow the data of one of your agents will be erased' : 'Tomorrow your data will be erased',
    text: (_, facts) => [
      `The grace period ${facts.isAgent ? `of the erasure of ${agentOf(facts)} ` : ''}ends at ${facts.waitingUntil ? time(facts.waitingUntil) : ''}. After that nothing can be brought back.`,
      ...cancelling(facts),
    ],
  },
  expedited: {
    subject: 'The grace period was ended',
    text: ({ details, note }) => [
      details.copies === 'wait'
        ? 'The grace period of your request was ended. The erasure begins once the copy that you asked for is fetched or gone.'
        : 'The grace period of your request was ended: the work begins now.',
      ...(details.copies === 'dropped'
        ? ['The copy that you asked for was not fetched: it is not kept back, and goes with the rest.']
        : []),
      ...(note ? [note] : []),
    ],
  },
  running: {
    subject: 'Your privacy request is being carried out',
    text: ({ details }) => [
      details.run_id === undefined
        ? 'The work on your request has begun.'
        : 'The erasure has begun. It cannot be taken back.',
    ],
  },
  verifying: {
    subject: ({ isAgent }) =>
      isAgent
        ? 'The data of one of your agents is erased and is being verified'
        : 'Your data is erased and is being verified',
    text: (_, facts) => [
      `Everything${facts.isAgent ? ` of ${agentOf(facts)}` : ''} is erased. Every store is searched once more before we sign the receipt.`,
    ],
  },
  completed: {
    subject: 'Your privacy request is done',
    text: ({ details }, { receipt, kinds, isAgent }) => [
      details.by === 'erasure'
        ? 'What was left of this request is settled by your larger erasure, which has begun.'
        : kinds.includes('erasure')
          ? `Everything${isAgent ? ' of the agent' : ''} is erased and verified.`
          : 'Everything that you asked for is done.',
      ...(receipt === undefined
        ? []
        : ['This is the signed receipt. Knowing the address is the right to read it, so keep it.', receipt]),
    ],
  },
  partly_completed: {
    subject: 'Your privacy request is done, but for what the law keeps',
    text: (_, { receipt }) => [
      'Everything is erased and verified but what a legal hold covers. The rest is erased by itself when the hold ends; we write to you then.',
      ...(receipt === undefined ? [] : ['The signed receipt says what is kept, and why.', receipt]),
    ],
  },
  kept_whole: {
    subject: 'Nothing was erased: a legal hold keeps your data',
    text: (_, { isAgent }) => [
      'We could not erase anything: a legal hold covers all of it, and the law forbids us to delete what it covers (GDPR art. 17(3)(b), (e)). There is no receipt, for nothing was deleted.',
      `${isAgent ? 'The agent and its tokens work' : 'You can sign in, and the tokens of your agents work,'} as before. When the hold ends, the erasure begins by itself, without another grace; we write to you then.`,
      remedies,
    ],
  },
  cancelled: {
    subject: 'Your privacy request is cancelled',
    text: ({ details }, { kinds, stays }) =>
      details.by === 'erasure'
        ? ['This request is closed, because it is part of your larger erasure now, which has begun.']
        : [
            kinds.includes('erasure')
              ? 'The erasure is called off; by this request nothing was erased.'
              : 'The request is cancelled.',
            ...(stays.length > 0
              ? [
                  `What was carried out before stays: ${stays.map((kind) => stayNames[kind] ?? kindNames[kind]).join('; ')}.`,
                ]
              : []),
          ],
  },
  expired: {
    subject: 'Your privacy request has expired',
    text: () => ['Nobody confirmed it within the month, so we closed it. Ask again at any time.'],
  },
  rejected: {
    subject: 'We refused your privacy request',
    // When the last part was refused, the email about that part already states the reason.
    text: ({ details, note }, facts) =>
      details.ground === undefined
        ? questions(facts)
        : [
            `We refused the request: ${grounds[groundOf(details.ground)]}.`,
            ...(note ? [note] : []),
            ...(details.lifted === true ? [lifted] : []),
            remedies,
            ...questions(facts),
          ],
  },
  part_refused: {
    subject: 'We refused a part of your privacy request',
    text: ({ details, note }) => [
      `We refused a part of it: ${grounds[groundOf(details.ground)]}.`,
      ...(note ? [note] : []),
      ...(details.lifted === true ? [lifted] : []),
      remedies,
    ],
  },
  part_done: {
    subject: 'A part of your privacy request is done',
    text: ({ note }) => ['A part of your request was carried out by hand:', ...(note ? [note] : [])],
  },
  failed: {
    subject: 'Your privacy request needs another try',
    text: (_, { hasBegun }) => [
      `Something in it did not work. ${hasBegun ? 'What is erased stays erased, and the rest is tried again' : 'Nothing is lost, and it is tried again'}: our administrators are told. You need not do anything.`,
    ],
  },
  extended: {
    subject: 'Your privacy request takes longer',
    text: ({ details, note }) => [
      `We need until ${time(dateOf(details.until))} (GDPR art. 12(3)). The reason:`,
      ...(note ? [note] : []),
      remedies,
    ],
  },
  paused: {
    subject: 'Your privacy request is paused',
    text: ({ note }) => ['The clocks of your request stand still. The reason:', ...(note ? [note] : [])],
  },
  blocked: {
    subject: 'Your erasure cannot begin yet',
    text: () => [
      'You are the last administrator of this installation. Make somebody else one: the erasure then begins by itself. The law’s limit goes on running meanwhile.',
    ],
  },
  resumed: {
    subject: 'Your privacy request goes on',
    text: (_, { legalDueAt }) => [`Your request goes on. The law’s limit is ${time(legalDueAt)} now.`],
  },
  rectified: {
    subject: 'Your data was corrected',
    text: () => ['What you asked us to correct in your account is corrected.'],
  },
  address_asked: {
    subject: 'Confirm your new address',
    text: () => ['A letter went to the new address: it takes the place of this one once it is confirmed there.'],
  },
  address_moved: {
    subject: 'Letters about your privacy request come here now',
    text: (_, facts) => [
      'The address of the account was changed. Letters about this request come here from now on, and no link of an earlier letter works any more. If it waits to be confirmed, ask for a new link.',
      ...cancelling(facts),
    ],
  },
  copy_ready: {
    subject: 'Your copy is ready',
    text: (_, { waitsForCopy, waitingUntil, isClosed, privacyEmail }) => [
      isClosed
        ? `The copy of your data is ready. Your account is closed, so you cannot sign in to fetch it: ${privacyEmail === null ? 'ask whoever runs this installation' : `write to ${privacyEmail}`}, so that it reaches you another way. It is there for four hours; a new one can be made.`
        : 'The copy of your data is ready. It is there for four hours, for you alone, when you are signed in.',
      ...(waitsForCopy
        ? [
            `The erasure that you asked for begins once you have fetched it, or the four hours are over${waitingUntil ? `, and not before ${time(waitingUntil)}` : ''}.`,
          ]
        : []),
    ],
  },
  copy_failed: {
    subject: 'Your copy needs another try',
    text: (_, { waitsForCopy }) => [
      `The copy of your data could not be made. Nothing is lost: our administrators are told, and it is tried again. ${waitsForCopy ? 'The erasure waits for it; if you would rather go on without it, write to us. ' : ''}You need not do anything.`,
    ],
  },
}
