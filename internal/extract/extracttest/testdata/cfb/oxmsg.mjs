// Makes the files oxmsg-*.msg of this folder with the npm package @tutao/oxmsg 0.2.3:
//
//	node oxmsg.mjs FOLDER
import { writeFileSync } from "node:fs";
import { Attachment, Email } from "@tutao/oxmsg";

const folder = process.argv[2];
const bytes = (text) => new TextEncoder().encode(text);
const mail = (draft) => new Email(draft)
	.sender("ann@example.org", "Ann Ørsted")
	.to("bob@example.org", "Bob").to("chris@example.org").cc("dora@example.org", "Дора")
	.sentOn(new Date("2024-03-05T14:30:00Z"));

const whole = mail(false)
	.subject("RE: Plan 山田")
	.bodyText("Text that the page repeats.")
	.bodyHtml("<p>The deductible is <b>4711</b> euros.</p><ul><li>Grüße</li></ul>")
	.attach(new Attachment(bytes("Report. ".repeat(1000)), "re/port.txt"))
	.attach(new Attachment(bytes("pixels"), "logo.png", "logo"));
writeFileSync(`${folder}/oxmsg-message.msg`, whole.msg());

// A draft keeps its page as compressed RTF only.
const draft = mail(true).subject("Draft")
	.bodyHtml("<html><body><p>Hello <b>bold</b>, the {deductible} is 4711.</p>" + "<p>Again and again.</p>".repeat(40) + "</body></html>");
writeFileSync(`${folder}/oxmsg-draft.msg`, draft.msg());

// Messages of the Internet's form are attached as files, with and without the extension.
const inner = (subject) => bytes(`From: Eve <eve@example.org>\r\nTo: Ann <ann@example.org>\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\n`
	+ "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nThe caf=C3=A9 opens at nine.\r\n");
const forwarded = mail(false).subject("FW: Opening").bodyText("See below.")
	.attach(new Attachment(inner("Opening"), "Opening.eml"))
	.attach(new Attachment(inner("No extension"), "Forwarded message"));
writeFileSync(`${folder}/oxmsg-forwarded.msg`, forwarded.msg());
