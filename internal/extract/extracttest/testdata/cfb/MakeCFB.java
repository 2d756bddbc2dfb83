// Makes the files poi-*.msg and poi-*.cfb of this folder with Apache POI 5.4.1 (poi, commons-io,
// commons-collections4, commons-codec, commons-math3, SparseBitSet and log4j-api on the class path):
//
//	java -cp 'lib/*' MakeCFB.java FOLDER
//
// POI lays out the compound file; the streams are those that MS-OXMSG prescribes.
import java.io.ByteArrayInputStream;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.GZIPOutputStream;
import org.apache.poi.poifs.filesystem.DirectoryEntry;
import org.apache.poi.poifs.filesystem.POIFSFileSystem;

class MakeCFB {
	static final int UNICODE = 0x1f, ANSI = 0x1e, BINARY = 0x102, OBJECT = 0x0d;

	static void stream(DirectoryEntry at, String name, byte[] data) throws Exception {
		at.createDocument(name, new ByteArrayInputStream(data));
	}

	static void property(DirectoryEntry at, int tag, int type, byte[] data) throws Exception {
		stream(at, String.format("__substg1.0_%04X%04X", tag, type), data);
	}

	static void text(DirectoryEntry at, int tag, String text) throws Exception {
		property(at, tag, UNICODE, text.getBytes(StandardCharsets.UTF_16LE));
	}

	// ansi writes a zero behind the text, as some programs do.
	static void ansi(DirectoryEntry at, int tag, String text, String charset) throws Exception {
		property(at, tag, ANSI, (text + "\0").getBytes(charset));
	}

	// fixed writes the stream of properties of fixed size; each value is 32 bits, or a time.
	static void fixed(DirectoryEntry at, int header, Object... tagsAndValues) throws Exception {
		ByteBuffer b = ByteBuffer.allocate(header + 8 * tagsAndValues.length).order(ByteOrder.LITTLE_ENDIAN);
		b.position(header);
		for (int i = 0; i < tagsAndValues.length; i += 2) {
			Object value = tagsAndValues[i + 1];
			b.putShort((short) (value instanceof Long ? 0x40 : 0x03)).putShort(((Integer) tagsAndValues[i]).shortValue());
			b.putInt(6).putLong(((Number) value).longValue());
		}
		stream(at, "__properties_version1.0", b.array());
	}

	static void save(POIFSFileSystem fs, OutputStream to) throws Exception {
		try (to) {
			fs.writeFilesystem(to);
		}
	}

	// message starts a message: its class, and the storage of named properties, of which it has none.
	static POIFSFileSystem message(int type) throws Exception {
		POIFSFileSystem fs = new POIFSFileSystem();
		property(fs.getRoot(), 0x001a, type, "IPM.Note".getBytes(type == ANSI ? StandardCharsets.US_ASCII : StandardCharsets.UTF_16LE));
		DirectoryEntry named = fs.createDirectory("__nameid_version1.0");
		for (int tag = 2; tag <= 4; tag++) {
			property(named, tag, BINARY, new byte[0]);
		}
		return fs;
	}

	static byte[] bytes(int size) {
		byte[] data = new byte[size];
		for (int i = 0; i < size; i++) {
			data[i] = (byte) (i * 7 + size);
		}
		return data;
	}

	static DirectoryEntry attachment(DirectoryEntry root, int number) throws Exception {
		return root.createDirectory(String.format("__attach_version1.0_#%08X", number));
	}

	// streams is a file with streams of the sizes at which their places change, and a storage.
	static void streams(String folder) throws Exception {
		POIFSFileSystem fs = new POIFSFileSystem();
		for (int size : new int[] {0, 1, 63, 64, 65, 4095, 4096, 20000}) {
			stream(fs.getRoot(), "s" + size, bytes(size));
		}
		stream(fs.createDirectory("inner"), "ä", "x".getBytes());
		save(fs, new FileOutputStream(folder + "/poi-streams.cfb"));
	}

	// large is a file whose list of tables does not fit into its first sector.
	static void large(String folder) throws Exception {
		POIFSFileSystem fs = new POIFSFileSystem();
		stream(fs.getRoot(), "zeros", new byte[8 << 20]);
		stream(fs.getRoot(), "last", bytes(5000));
		save(fs, new GZIPOutputStream(new FileOutputStream(folder + "/poi-large.cfb.gz")));
	}

	// letter has a file, a message with a file, and a picture of the page.
	static void letter(String folder) throws Exception {
		POIFSFileSystem fs = message(UNICODE);
		DirectoryEntry root = fs.getRoot();
		text(root, 0x0037, "A subject");
		text(root, 0x0c1a, "Ann");
		text(root, 0x5d01, "ann@example.org");
		text(root, 0x0e04, "Bob");
		text(root, 0x1000, "Café at noon.\r\n\r\nAnn");
		long sent = (1709649000L + 11644473600L) * 10000000L; // 2024-03-05 14:30
		fixed(root, 32, 0x0039, sent, 0x340d, 0x40000);

		DirectoryEntry report = attachment(root, 0);
		text(report, 0x3707, "re/port.txt");
		property(report, 0x3701, BINARY, "Report. ".repeat(1000).getBytes());
		fixed(report, 8, 0x3705, 1);

		DirectoryEntry holder = attachment(root, 1);
		fixed(holder, 8, 0x3705, 5);
		DirectoryEntry inner = holder.createDirectory("__substg1.0_3701000D");
		text(inner, 0x001a, "IPM.Note");
		text(inner, 0x0037, "Inner");
		text(inner, 0x1000, "Inner body, on one line.");
		text(inner, 0x0c1a, "Bob");
		fixed(inner, 24, 0x340d, 0x40000);
		DirectoryEntry deep = attachment(inner, 0);
		text(deep, 0x3707, "deep.txt");
		property(deep, 0x3701, BINARY, "Deep.".getBytes());
		fixed(deep, 8, 0x3705, 1);

		DirectoryEntry logo = attachment(root, 2);
		text(logo, 0x3707, "logo.png");
		text(logo, 0x3712, "cid:logo");
		property(logo, 0x3701, BINARY, "pixels".getBytes());
		fixed(logo, 8, 0x3705, 1);
		save(fs, new FileOutputStream(folder + "/poi-message.msg"));
	}

	// names has a sender, a recipient and an attachment named in a code page that is declared.
	static void names(String folder, int page, String charset, String from, String to, String file) throws Exception {
		POIFSFileSystem fs = message(ANSI);
		DirectoryEntry root = fs.getRoot();
		ansi(root, 0x0c1a, from, charset);
		ansi(root, 0x0e04, to, charset);
		ansi(root, 0x1000, "Body.", charset);
		fixed(root, 32, 0x3ffd, page);
		DirectoryEntry a = attachment(root, 0);
		ansi(a, 0x3707, file + ".txt", charset);
		property(a, 0x3701, BINARY, "Attached.".getBytes());
		fixed(a, 8, 0x3705, 1);
		save(fs, new FileOutputStream(folder + "/poi-names-" + page + ".msg"));
	}

	// locked looks like an encrypted document, but does not say how it is encrypted.
	static void locked(String folder) throws Exception {
		POIFSFileSystem fs = new POIFSFileSystem();
		stream(fs.getRoot(), "EncryptedPackage", "x".getBytes());
		save(fs, new FileOutputStream(folder + "/poi-locked.docx"));
	}

	public static void main(String[] args) throws Exception {
		streams(args[0]);
		large(args[0]);
		letter(args[0]);
		locked(args[0]);
		names(args[0], 1252, "windows-1252", "é", "Zoë Bü", "Çå æß");
		names(args[0], 1250, "windows-1250", "Ł", "Řehoř", "Żółw ťůě");
		names(args[0], 1257, "windows-1257", "ž", "Jānis", "Šķēle ųų");
		names(args[0], 1254, "windows-1254", "ş", "Gülşı", "Ağaç ıİ");
		names(args[0], 1251, "windows-1251", "я", "Мария", "Отчёт год");
		names(args[0], 20866, "KOI8-R", "я", "Мария", "Отчёт год");
		names(args[0], 28595, "ISO-8859-5", "я", "Мария", "Отчёт год");
		names(args[0], 1253, "windows-1253", "ω", "Ελένη", "Έκθεση ώρ");
		names(args[0], 1255, "windows-1255", "א", "שלמה", "דוח שנתי");
		names(args[0], 1256, "windows-1256", "ب", "محمد", "تقرير سنة");
		names(args[0], 932, "windows-31j", "林", "山田太郎", "報告カキあい東京");
		names(args[0], 936, "GBK", "王", "联通王李", "年度报告周吴徐孙");
		names(args[0], 949, "MS949", "김", "최정강조", "보고서신권황안송");
		names(args[0], 950, "MS950", "林", "陳林黃張", "年度報告許鄭謝洪");
	}
}
