import type { RefusalGround, RequestKind } from '#lib/domains/privacy-requests/rules.ts'
import { emailTime as time } from '#lib/stores/mail/email-content.ts'
import { dateOf, type EmailFacts, type EmailWords, groundOf, isHandedOver } from './email-facts.ts'

export const kindNames: Record<RequestKind, string> = {
  access: 'access',
  portability: 'portability',
  rectification: 'rectification',
  restriction: 'restriction',
  objection: 'objection',
  erasure: 'deletion',
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
        `To keep ${isAgent ? 'the agent and its data' : 'your data'}, open this page and press the button. It works until the deletion begins.`,
        links.cancel,
      ]
const remedies =
  'You have the right to lodge a complaint with your data protection authority, and to a judicial remedy (GDPR art. 12(4), 77, 79).'

/** Names the agent of an agent's request if its id is still stored. */
const agentOf = ({ agentId }: EmailFacts): string => (agentId === null ? 'the agent' : `the agent ${agentId}`)
const others = ({ redacts }: Pick<EmailFacts, 'redacts'>): string[] =>
  redacts
    ? ['Your name and email address are also removed from texts of others in the knowledge graphs of your projects.']
    : []
const questions = ({ privacyEmail }: EmailFacts): string[] =>
  privacyEmail === null ? [] : [`Questions? Write to ${privacyEmail}.`]
const stayNames: Partial<Record<RequestKind, string>> = {
  rectification: 'the corrections',
  restriction: 'the restriction, until you lift it',
  objection: 'the restriction from your objection',
}
const lifted =
  'The restriction from your objection is lifted. Your agents can write again, unless you also asked for a restriction.'

/** How a participant gets the copy: with the link in this email, or from the organization. */
const handedOver = ({ statusPage }: Pick<EmailFacts, 'statusPage'>): string =>
  statusPage === undefined
    ? 'The copy of your data is ready. The organization hands it over to you.'
    : 'The copy of your data is ready. You can download it from the status page for 30 days after your identity was verified. Anyone with the link below can download it too.'

const untilErasure = ({ tokensStop, isAgent, signInStays }: EmailFacts): string =>
  `Until then, the tokens of ${isAgent ? 'this agent' : 'your agents'} ${tokensStop ? 'do not work' : 'still work'}${
    isAgent ? '' : signInStays ? ', and you can still sign in' : ', and your sessions have ended'
  }.`

/** Texts by event; other events are not emailed. */
export const english: Record<string, EmailWords> = {
  received: {
    subject: 'We received your privacy request',
    text: (_, facts) => [
      `We received a request for ${facts.kinds.map((kind) => kindNames[kind]).join(', ')}. The legal deadline is ${time(facts.legalDueAt)}. ${
        facts.isUnconnected
          ? 'Next, we check whether and where we process your data. Before we disclose, change or delete anything, we verify your identity.'
          : 'We aim to complete it within 72 hours after your identity is confirmed.'
      }`,
      ...questions(facts),
    ],
  },
  link_sent: {
    subject: 'Confirm your privacy request',
    text: (_, { links, kinds, isAgent, agentId, ifConfirmed, ...facts }) =>
      links.verify !== undefined
        ? [
            `Please confirm the request for ${kinds.map((kind) => kindNames[kind]).join(', ')}${isAgent && agentId !== null ? `, about the agent ${agentId}` : ''}.`,
            ...(ifConfirmed === null
              ? []
              : [
                  ifConfirmed.isAtOnce
                    ? 'The deletion begins as soon as you confirm it, and it cannot be undone.'
                    : `If you confirm it now, the deletion begins at ${time(ifConfirmed.at)}. You can cancel it until then.`,
                ]),
            ...others(facts),
            'To confirm the request, open this page and press the button. The link works once and expires after ten minutes.',
            links.verify,
            'If you did not make this request, ignore this email. Nothing happens without your confirmation.',
          ]
        : [],
  },
  verified: { subject: 'Your privacy request is confirmed', text: () => ['We confirmed your identity.'] },
  waiting: {
    subject: ({ isAgent }) =>
      isAgent ? 'The data of one of your agents will be deleted' : 'Your data will be deleted',
    text: (entry, facts) => [
      `The deletion ${facts.isAgent ? `of ${agentOf(facts)} and all its data ` : ''}begins at ${time(facts.waitingUntil ?? dateOf(entry.details.until))}.${entry.details.shortened === true ? ' That is earlier than you chose, because the legal deadline is earlier.' : ''}${facts.isParticipant ? '' : ` ${untilErasure(facts)}`}`,
      ...(facts.waitsForCopy
        ? [
            'It also waits until you have downloaded the copy that you requested, or until the copy expires, four hours after it is ready.',
          ]
        : []),
      ...others(facts),
      ...(entry.details.by === 'token'
        ? ['A token of the agent made this request. If you did not intend it, cancel the request and revoke the token.']
        : entry.details.by === 'admin'
          ? ['An admin confirmed the identity of the requester. If you did not make this request, cancel it.']
          : entry.details.by === 'manager'
            ? [
                'The organization that uses the application made this request for you. If you did not ask for it, cancel it.',
              ]
            : []),
      ...cancelling(facts),
    ],
  },
  reminded: {
    subject: ({ isAgent }) =>
      isAgent ? 'Tomorrow the data of one of your agents will be deleted' : 'Tomorrow your data will be deleted',
    text: (_, facts) => [
      `The grace period ${facts.isAgent ? `of the deletion of ${agentOf(facts)} ` : ''}ends at ${facts.waitingUntil ? time(facts.waitingUntil) : ''}. After that, the deletion cannot be undone.`,
      ...cancelling(facts),
    ],
  },
  expedited: {
    subject: ({ hasBegun }) => (hasBegun ? 'The grace period has ended' : 'The grace period was shortened'),
    text: ({ details, note }, facts) => [
      typeof details.until === 'string'
        ? `An admin shortened the grace period of your request. The deletion begins at ${time(dateOf(details.until))}.`
        : details.copies === 'wait'
          ? 'The grace period of your request was ended early. The deletion begins once the copy that you requested is downloaded or expires.'
          : 'The grace period of your request was ended early. The deletion begins now.',
      ...(details.copies === 'dropped'
        ? ['You did not download the copy that you requested, so it is deleted with all other data.']
        : []),
      ...(note ? [note] : []),
      ...cancelling(facts),
    ],
  },
  running: {
    subject: 'Your privacy request is being processed',
    text: ({ details }) => [
      details.run_id === undefined
        ? 'We have started to process your request.'
        : 'The deletion has begun. It cannot be cancelled anymore.',
    ],
  },
  verifying: {
    subject: ({ isAgent }) =>
      isAgent
        ? 'The data of one of your agents is deleted, and we are verifying the deletion'
        : 'Your data is deleted, and we are verifying the deletion',
    text: (_, facts) => [
      `The data${facts.isAgent ? ` of ${agentOf(facts)}` : ''} is deleted. Before we sign the receipt, we search every store again for remaining data, by ids and indexes.`,
    ],
  },
  completed: {
    subject: 'Your privacy request is done',
    text: ({ details }, { receipt, kinds, isAgent, ...facts }) => [
      details.by === 'erasure'
        ? 'The remaining part of this request is now part of your larger deletion, which has begun.'
        : kinds.includes('erasure')
          ? `${isAgent ? 'The data of the agent' : 'Your data'} is deleted, and every store was searched again by ids and indexes. Within a day, we also read the connected stores completely and add the result to the receipt.`
          : isHandedOver({ ...facts, kinds })
            ? handedOver(facts)
            : 'We completed everything that you asked for.',
      ...(receipt === undefined
        ? []
        : [
            'The signed receipt lists what was deleted, and which data we retain and why. Anyone who has this link can read it, so store it safely.',
            receipt,
          ]),
    ],
  },
  partly_completed: {
    subject: 'Your privacy request is done, except for data under a legal hold',
    text: (_, { receipt }) => [
      'The data is deleted and verified, except for data under a legal hold. We delete that data automatically when the hold ends, and then send you an email.',
      ...(receipt === undefined ? [] : ['The signed receipt lists the retained data and the reasons.', receipt]),
    ],
  },
  kept_whole: {
    subject: 'Nothing was deleted: your data is under a legal hold',
    text: (_, { isAgent }) => [
      'We could not delete anything. All of the data is under a legal hold, and the law requires or allows us to retain it (GDPR art. 17(3)(b), (e)). There is no receipt, because nothing was deleted.',
      `${isAgent ? 'The agent and its tokens work' : 'You can sign in, and the tokens of your agents work,'} as before. When the hold ends, the deletion begins automatically without another grace period, and we send you an email.`,
      remedies,
    ],
  },
  cancelled: {
    subject: 'Your privacy request is cancelled',
    text: ({ details }, { kinds, stays }) =>
      details.by === 'erasure'
        ? ['This request is closed, because it is now part of your larger deletion, which has begun.']
        : [
            kinds.includes('erasure')
              ? 'The deletion is cancelled. This request deleted nothing.'
              : 'The request is cancelled.',
            ...(stays.length > 0
              ? [
                  `These changes remain in effect: ${stays.map((kind) => stayNames[kind] ?? kindNames[kind]).join('; ')}.`,
                ]
              : []),
          ],
  },
  expired: {
    subject: 'Your privacy request has expired',
    text: () => [
      'Nobody confirmed your request within one month, so we closed it. You can make a new request at any time.',
    ],
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
    subject: 'We refused part of your privacy request',
    text: ({ details, note }) => [
      `We refused part of your request: ${grounds[groundOf(details.ground)]}.`,
      ...(note ? [note] : []),
      ...(details.lifted === true ? [lifted] : []),
      remedies,
    ],
  },
  answered: {
    subject: 'The answer to your privacy request',
    text: ({ note }, facts) => [
      'An administrator answered your request:',
      ...(note ? [note] : []),
      'The request is closed. Its status page shows the answer for 30 days.',
      remedies,
      ...questions(facts),
    ],
  },
  form_joined: {
    subject: 'We added your message to your open privacy request',
    text: (_, facts) => [
      `You already have an open request of this kind, so we added your message to it. The legal deadline is ${time(facts.legalDueAt)}.`,
      ...questions(facts),
    ],
  },
  part_done: {
    subject: 'Part of your privacy request is done',
    text: ({ note }, { ifConfirmed }) => [
      'An administrator completed part of your request:',
      ...(note ? [note] : []),
      ...(ifConfirmed ? ['The deletion does not begin until the identity of the requester is confirmed again.'] : []),
    ],
  },
  failed: {
    subject: 'Your privacy request failed and will be retried',
    text: (_, { hasBegun }) => [
      `Part of your request failed. ${hasBegun ? 'Data that is already deleted stays deleted, and we retry the rest' : 'No data was lost, and we will retry it'}. Our administrators have been notified. You do not need to do anything.`,
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
    text: ({ note }) => ['We paused your request, and its deadlines with it. The reason:', ...(note ? [note] : [])],
  },
  blocked: {
    subject: 'Your deletion cannot begin yet',
    text: () => [
      'You are the last administrator of this installation. Make another account an administrator. The deletion then begins automatically. Meanwhile, the legal deadline does not change.',
    ],
  },
  doubted: {
    subject: 'Your deletion needs another confirmation',
    text: (_, facts) => [
      `The deletion did not begin, because the person who confirmed the identity of the requester no longer has the right to confirm it. An administrator checks the identity again. The deletion then gets a new grace period. The legal deadline is ${time(facts.legalDueAt)}.`,
      'If you did not make this request, cancel it.',
      ...questions(facts),
    ],
  },
  resumed: {
    subject: 'Your privacy request continues',
    text: (_, { legalDueAt }) => [`Your request continues. The legal deadline is now ${time(legalDueAt)}.`],
  },
  rectified: {
    subject: 'Your data was corrected',
    text: () => ['We corrected your account as you requested.'],
  },
  address_asked: {
    subject: 'Confirm your new address',
    text: () => ['We sent an email to the new address. The new address replaces this one when you confirm it there.'],
  },
  address_moved: {
    subject: 'Emails about your privacy request now come to this address',
    text: (_, facts) => [
      'The email address of the account was changed. Emails about this request now come to this address, and links in earlier emails no longer work. If the request is not confirmed yet, request a new link.',
      ...cancelling(facts),
    ],
  },
  copy_ready: {
    subject: 'Your copy is ready',
    text: (_, { waitsForCopy, waitingUntil, isClosed, privacyEmail }) => [
      isClosed
        ? `The copy of your data is ready. Your account is closed, so you cannot sign in to download it. ${privacyEmail === null ? 'Ask the operator of this installation' : `Write to ${privacyEmail}`} to receive it another way. The copy expires after four hours. You can request a new one.`
        : 'The copy of your data is ready. Sign in to download it within four hours. Only you can download it.',
      ...(waitsForCopy
        ? [
            `The deletion that you requested begins once you have downloaded the copy or the four hours are over${waitingUntil ? `, but not before ${time(waitingUntil)}` : ''}.`,
          ]
        : []),
    ],
  },
  copy_failed: {
    subject: 'Your copy failed and will be retried',
    text: (_, { waitsForCopy }) => [
      `We could not create the copy of your data. No data was lost, and we will retry it. Our administrators have been notified. ${waitsForCopy ? 'The deletion waits for it. If you do not need the copy, write to us. ' : ''}You do not need to do anything.`,
    ],
  },
}
