import { describe, expect, it } from 'vitest'
import { findPersonalData } from '../personal-data.ts'
import { ownNumbers } from './own-numbers.ts'

const number = '+43 660 1234567'
const ownIn = (text: string): string[] =>
  [...ownNumbers(text, findPersonalData(text, { kinds: ['phone'] }))].map(({ start, end }) => text.slice(start, end))

describe('ownNumbers', () => {
  it.each([
    `My number is ${number}.`,
    `my new mobile number: ${number}`,
    `Please call me at ${number} after lunch.`,
    `You can reach me on ${number}`,
    `I can be reached under ${number}.`,
    `${number} is my work phone, by the way.`,
    `Meine Nummer lautet ${number}.`,
    `Ruf mich unter ${number} an.`,
    `Sie erreichen mich unter Tel. ${number}.`,
    `Mon numéro est le ${number}.`,
    `Appelez-moi au ${number}.`,
    `Mi número es ${number}`,
    `Il mio numero è ${number}`,
    `Meu celular é ${number}`,
    `Mijn nummer is ${number}`,
    `Мой номер ${number}`,
    `Mój numer to ${number}`,
    `我的电话是${number}。`,
    `私の携帯番号は${number}です。`,
    number,
    `Tel: ${number}`,
    `See you on Friday.\n\nBest regards,\nIris Probe\nTel: ${number}`,
    `Bis morgen!\n\nViele Grüße\nIris Probe\nMobil: ${number}`,
  ])('returns the number of the writer in %j', (text) => {
    expect(ownIn(text)).toEqual([number])
  })

  it.each([
    `Ben's number is ${number}.`,
    `Call Ben on ${number}.`,
    `My doctor has the number ${number}.`,
    `My brother's phone is ${number}.`,
    `Call me or Ben on ${number}.`,
    `The plumber called me from ${number}.`,
    `Call me at Ben's, ${number}.`,
    `Ask Ms Weiss, tel. ${number}.`,
    `Die Nummer meiner Schwester ist ${number}.`,
    `Frau Weiß erreichen Sie unter ${number}.`,
    `Le numéro de Paul est le ${number}.`,
    `Номер Анны ${number}`,
    `小王的电话是${number}。`,
    `Ben: ${number}`,
    `Name: Ben Muster\nTel: ${number}`,
    `Call me tomorrow. The office has ${number}.`,
    `Best regards,\nIris\n\nPS: Ben moved, his new number is ${number}.`,
  ])('returns no number of somebody else in %j', (text) => {
    expect(ownIn(text)).toEqual([])
  })

  it('tells two numbers of one sentence apart', () => {
    expect(ownIn(`Call me on ${number} please, or the office on +43 720 1234567.`)).toEqual([number])
  })
})
