import { app, route } from '#lib/app.ts'

export const POST = route(app.agents.giveConsent)
export const DELETE = route(app.agents.withdrawConsent)
