// Made-up documents for trying Parley before adding one's own.
const texts: Record<string, string> = {
  "sample-travel-policy.md": `# Travel policy (sample)

## Trains and flights

Take the train for journeys of up to five hours. Flights are booked in economy class; business class needs the approval of your manager.

## Hotels

The company pays up to 140 euros a night, breakfast included. In London, Paris and Zurich the limit is 190 euros.

## Expenses

| Expense | Limit | Receipt |
|---|---|---|
| Breakfast | 12 euros | no |
| Lunch | 20 euros | no |
| Dinner | 35 euros | yes |
| Taxi | 60 euros | yes |

Hand in your receipts within 30 days after the journey. Expenses are paid back with the next salary.
`,
  "sample-leave-policy.md": `# Leave policy (sample)

## Annual leave

Everyone has 28 days of leave a year. Up to five days can be carried over until the end of March.

## Parental leave

Parents can take 16 weeks of paid leave in the first year after a birth or an adoption. Tell your manager eight weeks before it begins.

## Sick leave

Report sick by nine in the morning. From the fourth day on, a doctor's note is needed.
`,
};

export const samples = (): File[] => Object.entries(texts).map(([name, text]) => new File([text], name, { type: "text/markdown" }));
